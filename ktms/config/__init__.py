"""File and environment become settings; the only reader of the environment."""
