"""Scenarios about our own machines: who takes a call, what becomes of it there, and who waits."""
