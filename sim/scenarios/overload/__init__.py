"""What scenarios show of a gateway with too much to do, or that stands still."""
