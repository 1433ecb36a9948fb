"""Cloud vendors as their own machines speak."""
