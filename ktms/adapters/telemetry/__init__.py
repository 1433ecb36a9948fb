"""Counters, the one line per request, structured logs."""
