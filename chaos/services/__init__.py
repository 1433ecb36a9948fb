"""Postgres, Redis and Toxiproxy that are real, and where each of them comes from."""
