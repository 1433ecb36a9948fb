"""Redis or Valkey (redis-py)."""
