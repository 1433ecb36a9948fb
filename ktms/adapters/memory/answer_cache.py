"""Answers kept in this process: for one replica without Redis, for tests and simulated worlds."""

from ktms.adapters.memory.clock import LoopClock
from ktms.ports.answer_cache import CacheAway
from ktms.ports.clock import Clock

BYTES_MAX = 64 * 1024 * 1024
"""What a process may hold of other people's questions; the oldest go first."""


class MemoryAnswerCache:
    """Implements `AnswerCache`; `away` is a kind of outage, None while it answers."""

    def __init__(self, clock: Clock | None = None, *, bytes_max: int = BYTES_MAX) -> None:
        self._clock = clock or LoopClock()
        self._bytes_max = bytes_max
        self._bytes = 0
        self._kept: dict[bytes, tuple[float, bytes]] = {}
        self.away: str | None = None

    async def get(self, key: bytes) -> bytes | None:
        """Give what was kept, unless its time is over."""
        if self.away is not None:
            raise CacheAway(self.away)
        until, answer = self._kept.get(key, (0.0, b""))
        if until > self._clock.monotonic():
            return answer
        self._forget(key)
        return None

    def put(self, key: bytes, answer: bytes, ttl_s: float) -> None:
        """Keep an answer, and let go of the oldest where there is no room."""
        if self.away is not None or len(answer) > self._bytes_max:
            return
        self._forget(key)
        self._kept[key] = (self._clock.monotonic() + ttl_s, answer)
        self._bytes += len(answer)
        while self._bytes > self._bytes_max:
            self._forget(next(iter(self._kept)))

    def lose(self) -> None:
        """Forget everything, as a store that restarts."""
        self._kept.clear()
        self._bytes = 0

    def _forget(self, key: bytes) -> None:
        _, answer = self._kept.pop(key, (0.0, b""))
        self._bytes -= len(answer)
