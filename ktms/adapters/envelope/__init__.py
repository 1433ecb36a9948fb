"""Encryption of secrets at rest (cryptography)."""
