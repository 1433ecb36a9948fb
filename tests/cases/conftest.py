"""End-to-end cases take a world; which one is decided here alone."""

from tests.world.fixtures import world

__all__ = ["world"]
