"""Real Postgres and Valkey from wheels, run by ourselves on loopback."""
