"""Scenarios: worlds with a purpose. Each proves ids of the failure matrix, or a script of the research list."""
