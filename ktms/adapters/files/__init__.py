"""What lies on disk: the user's configuration folder, key files."""
