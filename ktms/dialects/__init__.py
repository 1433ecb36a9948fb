"""Wire formats: bytes to facts and back; pure."""
