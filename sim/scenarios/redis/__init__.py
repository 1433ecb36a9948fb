"""What scenarios show of a Redis that answers and refuses."""
