"""Lua scripts by their twins: for the text of each script a function here that does the same.

Rules: a script must be loaded before it is run by its digest, as in Redis; a text without a twin is an error, so
none runs in a world that nobody wrote a twin for. Not here: the scripts, and the tests that hold both together.
"""

import hashlib
from collections.abc import Callable

from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.resp import Answer, Refusal

Twin = Callable[[Keyspace, list[bytes], list[bytes]], Answer]
"""Takes the data, the keys and the other arguments; runs as one step, as a script does."""

NO_SCRIPT = Refusal(b"NOSCRIPT No matching script. Please use EVAL.")
NO_TWIN = Refusal(b"ERR the simulated Redis has no twin of this script")


class Scripts:
    """Which scripts there are, and which of them this server has been given."""

    def __init__(self) -> None:
        self._twins: dict[bytes, Twin] = {}
        self._loaded: dict[bytes, None] = {}

    def register(self, source: bytes, twin: Twin) -> bytes:
        """Say what a script does; gives its digest. It still has to be loaded by a client."""
        digest = digest_of(source)
        self._twins[digest] = twin
        return digest

    def load(self, source: bytes) -> bytes | Refusal:
        """Take a script from a client and give its digest."""
        digest = digest_of(source)
        if digest not in self._twins:
            return NO_TWIN
        self._loaded[digest] = None
        return digest

    def has(self, digest: bytes) -> bool:
        """Whether a script is loaded."""
        return digest.lower() in self._loaded

    def flush(self) -> None:
        """Forget what clients loaded."""
        self._loaded.clear()

    def run(self, digest: bytes, data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
        """Run a loaded script."""
        if not self.has(digest):
            return NO_SCRIPT
        return self._twins[digest.lower()](data, keys, arguments)


def digest_of(source: bytes) -> bytes:
    """Give the digest that EVALSHA goes by."""
    return hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()
