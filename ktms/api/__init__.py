"""Doors: read, authenticate, hand to the engine, write."""
