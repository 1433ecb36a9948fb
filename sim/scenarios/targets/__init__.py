"""Scenarios about vendors and nodes that fail: FV1 to FV9, and what the research list says of targets."""
