"""A world on real sockets for the tests of the world itself."""

from tests.world.fixtures import world

__all__ = ["world"]
