"""One checker per invariant. They read a journal and nothing else: worlds and chaos runs have the same judges."""
