"""The filter before an engine: two routes, one token, and requests to the engine that are built from constants."""
