"""The one database of a world: what every replica asks, what operators write, and how it fails."""
