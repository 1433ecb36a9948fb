"""Alive, ready, metrics."""
