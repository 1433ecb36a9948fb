"""Scenarios about Redis and the leases in it."""
