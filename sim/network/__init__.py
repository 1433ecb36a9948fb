"""The simulated network: connections between hosts, and what goes wrong with them. Begin at `network.py`."""
