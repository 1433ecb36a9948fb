"""Calls that are made again: answered from what was kept, or under an Idempotency-Key as the first one was."""
