"""Why a node does not serve: facts are gathered, causes found, symptoms that follow from them left out."""
