"""Batches: a replica is killed under them, the database is away, machines do them at night."""
