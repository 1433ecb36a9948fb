"""Catalogue, keys, migrations and notifications in Postgres (asyncpg)."""
