"""Hashes of the simulated Redis, as far as our scripts use them.

Not here: single values (`keyspace.py`).
"""

from collections.abc import Callable


class Hashes:
    """Fields with values, by key; an empty hash is no hash, as in Redis. Times to live count on `now_ms`."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._hashes: dict[bytes, dict[bytes, bytes]] = {}
        self._ends_at_ms: dict[bytes, int] = {}

    def get(self, key: bytes, field: bytes) -> bytes | None:
        """Give the value of a field."""
        return self._fields(key).get(field)

    def put(self, key: bytes, field: bytes, value: bytes) -> None:
        """Store a field; the time to live of the hash stays."""
        self._fields(key)
        self._hashes.setdefault(key, {})[field] = value

    def remove(self, key: bytes, field: bytes) -> bytes | None:
        """Remove a field and give what it had."""
        value = self._fields(key).pop(field, None)
        if not self._fields(key):
            self.delete(key)
        return value

    def items(self, key: bytes) -> list[tuple[bytes, bytes]]:
        """Give fields and values in the order they came in."""
        return list(self._fields(key).items())

    def expire(self, key: bytes, lives_ms: int) -> None:
        """Set the time to live of a hash, if there is one."""
        if self._fields(key):
            self._ends_at_ms[key] = self._now_ms() + lives_ms

    def delete(self, key: bytes) -> bool:
        """Delete a hash; False when there is none."""
        self._ends_at_ms.pop(key, None)
        return self._hashes.pop(key, None) is not None

    def copy(self) -> "Hashes":
        """Give the same hashes, which change no more with these."""
        copy = Hashes(self._now_ms)
        copy._hashes = {key: dict(fields) for key, fields in self._hashes.items()}
        copy._ends_at_ms = dict(self._ends_at_ms)
        return copy

    def clear(self) -> None:
        """Delete all."""
        self._hashes.clear()
        self._ends_at_ms.clear()

    def _fields(self, key: bytes) -> dict[bytes, bytes]:
        ends_at_ms = self._ends_at_ms.get(key)
        if ends_at_ms is not None and ends_at_ms <= self._now_ms():
            self.delete(key)
        return self._hashes.get(key, {})
