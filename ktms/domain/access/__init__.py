"""Who may do what, and how much: keys, limits, secrets, usage events."""
