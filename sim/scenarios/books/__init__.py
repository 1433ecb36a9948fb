"""Scenarios of the book-keeping: what the gateway does while its database refuses, hangs, or tells nonsense."""
