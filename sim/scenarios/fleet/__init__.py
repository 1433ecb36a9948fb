"""Scenarios about our own machines, and about the store of their slots."""
