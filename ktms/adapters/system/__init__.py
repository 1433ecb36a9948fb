"""The real clock and the real entropy."""
