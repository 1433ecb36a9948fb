"""What has just left the fleet: kept for a while, since most of it comes back.

An agent that restarts, a machine that is switched off and on, a model that is taken off a list and put back: what
was known of its health and its speed is as true as before, and only a token makes an ill node healthy again.
Bounded in time and number. Not here: what is kept of whom (`fleet.py`).
"""

from typing import Generic, TypeVar

KEPT_S = 3600.0
"""As long as a look at a node stays on the board: whoever was away longer comes back as a stranger."""

KEPT_MAX = 4096
"""Of each kind; beyond it those that left first are forgotten."""

K = TypeVar("K")
V = TypeVar("V")


class Lately(Generic[K, V]):
    """Things that left, by name, with the moment when they did."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[float, V]] = {}  # in the order in which they left

    def left(self, key: K, value: V, now: float) -> None:
        """Keep what left just now, and forget what left too long ago."""
        self._kept.pop(key, None)
        self._kept[key] = (now, value)
        while len(self._kept) > KEPT_MAX or next(iter(self._kept.values()))[0] <= now - KEPT_S:
            del self._kept[next(iter(self._kept))]

    def back(self, key: K, now: float) -> V | None:
        """Give back what was kept, as it comes back; None where nothing is known any more."""
        left_at, value = self._kept.pop(key, (now, None))
        return value if left_at > now - KEPT_S else None

    def find(self, key: K) -> V | None:
        """Give what is kept, and keep it."""
        kept = self._kept.get(key)
        return None if kept is None else kept[1]
