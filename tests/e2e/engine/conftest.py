"""The real engine, and a world to ask it from, for the tests of this folder."""

from tests.e2e.engine.fixtures import llama_server
from tests.world.fixtures import world

__all__ = ["llama_server", "world"]
