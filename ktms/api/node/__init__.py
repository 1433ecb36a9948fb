"""The door for agents of own machines."""
