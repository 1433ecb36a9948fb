"""The real engine, for the tests of this folder that are marked so."""

from tests.e2e.engine.fixtures import llama_server

__all__ = ["llama_server"]
