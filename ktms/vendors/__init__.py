"""What is peculiar to one vendor: paths, auth header, error signs; pure, one small file each."""
