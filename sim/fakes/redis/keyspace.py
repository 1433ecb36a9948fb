"""Keys and their time to live, in milliseconds of the loop's time, and the news that changes make.

Not here: commands, RESP, what is in a sorted set (`sorted_sets.py`) or in a hash (`hashes.py`).
"""

import asyncio
from collections.abc import Callable

from sim.fakes.redis.hashes import Hashes
from sim.fakes.redis.sorted_sets import SortedSets


class NotAnInteger(Exception):
    """A value that should be counted with is no integer of 64 bits."""


INTEGER_MAX = 2**63 - 1
"""Redis counts with 64 bits."""


def loop_now_s() -> float:
    """Give the time of the running loop."""
    return asyncio.get_running_loop().time()


class Keyspace:
    """The data. A key whose time is over is gone at the moment somebody looks. Sorted sets live for ever."""

    def __init__(self, now: Callable[[], float] = loop_now_s) -> None:
        self._now = now
        self._values: dict[bytes, bytes] = {}
        self._ends_at_ms: dict[bytes, int] = {}
        self.sets = SortedSets()
        self.hashes = Hashes(self.now_ms)
        self._told: list[tuple[bytes, bytes]] = []

    def now_ms(self) -> int:
        """Give the time that all of this counts on."""
        return int(self._now() * 1000)

    def now_us(self) -> int:
        """Give the same in microseconds."""
        return int(self._now() * 1_000_000)

    def get(self, key: bytes) -> bytes | None:
        """Give a value that is still alive."""
        ends_at_ms = self._ends_at_ms.get(key)
        if ends_at_ms is not None and ends_at_ms <= self.now_ms():
            self._forget(key)
        return self._values.get(key)

    def put(self, key: bytes, value: bytes, *, lives_ms: int | None = None) -> None:
        """Store a value; without `lives_ms` it stays, whatever time the old one had left."""
        self._values[key] = value
        self._ends_at_ms.pop(key, None)
        if lives_ms is not None:
            self._ends_at_ms[key] = self.now_ms() + lives_ms

    def add(self, key: bytes, amount: int) -> int:
        """Count on a value, from 0 where there is none; its time to live stays.

        Raises:
            NotAnInteger: what is stored, or what would be.
        """
        value = self.get(key)
        try:
            total = int(value or b"0") + amount
        except ValueError:
            raise NotAnInteger from None
        if not -INTEGER_MAX <= total <= INTEGER_MAX:
            raise NotAnInteger
        self._values[key] = b"%d" % total
        return total

    def expire(self, key: bytes, lives_ms: int) -> bool:
        """Set the time to live; False when there is no such key."""
        if self.get(key) is None:
            return False
        self._ends_at_ms[key] = self.now_ms() + lives_ms
        return True

    def left_ms(self, key: bytes) -> int:
        """Give the time left: -1 for ever, -2 no such key."""
        if self.get(key) is None:
            return -2
        ends_at_ms = self._ends_at_ms.get(key)
        return -1 if ends_at_ms is None else ends_at_ms - self.now_ms()

    def delete(self, key: bytes) -> bool:
        """Delete a key; False when there is none."""
        there = self.get(key) is not None
        self._forget(key)
        there |= self.sets.delete(key)
        return self.hashes.delete(key) or there

    def _forget(self, key: bytes) -> None:
        self._ends_at_ms.pop(key, None)
        self._values.pop(key, None)

    def tell(self, channel: bytes, message: bytes) -> None:
        """Make news; the server takes them after each request."""
        self._told.append((channel, message))

    def take_told(self) -> list[tuple[bytes, bytes]]:
        """Give the news made since it was asked last."""
        told, self._told = self._told, []
        return told

    def copy(self) -> "Keyspace":
        """Give all that is here, as a replica has it that hears of nothing after this."""
        copy = Keyspace(self._now)
        copy._values, copy._ends_at_ms = dict(self._values), dict(self._ends_at_ms)
        copy.sets, copy.hashes = self.sets.copy(), self.hashes.copy()
        return copy

    def clear(self) -> None:
        """Delete all, as a restart without persistence does."""
        self._values.clear()
        self.sets.clear()
        self.hashes.clear()
        self._ends_at_ms.clear()
