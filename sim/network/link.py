"""A link: how bytes travel from one host to another, in one direction.

All connections of the pair share it, its bandwidth too. Its members may be changed at any time and count for what
is sent from then on. Not here: what a connection does with its bytes (`transport.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from sim.seed import Chance

WINDOW_BYTES = 256 * 1024
"""Bytes under way or unread at the peer: about what two kernels hold for a connection between machines."""

HIGH_BYTES = 64 * 1024
"""Above this a writer is asked to pause, as in asyncio."""


PIECES_MAX = 2000
"""Into so many pieces one write is cut at most: a flood byte by byte would take minutes and show nothing more."""


@dataclass(slots=True)
class Link:
    """The way of one host to another. 0 bytes per second: no limit; 0 bytes a slice: not sliced.

    `window_bytes` may be under way or unread; with a small one short answers meet what else only long ones do.
    """

    window_bytes: int = WINDOW_BYTES
    latency_s: float = 0.0005
    jitter_s: float = 0.0002
    bytes_per_s: float = 0.0
    slice_max_bytes: int = 0
    black_hole: bool = False
    when_healed: list[Callable[[], None]] = field(default_factory=list, repr=False)
    _busy_until: float = field(default=0.0, repr=False)

    def heal(self) -> None:
        """End the black hole; who has kept bytes sends them."""
        self.black_hole = False
        waiting, self.when_healed = self.when_healed, []
        for release in waiting:
            release()

    def travel_s(self, chance: Chance) -> float:
        """Draw how long the next packet is under way."""
        return self.latency_s + self.jitter_s * chance.unit()

    def arrives_at(self, now: float, size_bytes: int, chance: Chance) -> float:
        """Say when so many bytes, sent now, have arrived; a thin link takes one after the other."""
        if self.bytes_per_s:
            self._busy_until = max(now, self._busy_until) + size_bytes / self.bytes_per_s
            now = self._busy_until
        return now + self.latency_s + self.jitter_s * chance.unit()

    def sliced(self, data: bytes, chance: Chance) -> list[bytes]:
        """Cut bytes as the link does."""
        if not self.slice_max_bytes:
            return [data]
        pieces, start = [], 0
        while start < len(data):
            size = max(chance.between(1, self.slice_max_bytes), len(data) // PIECES_MAX)
            pieces.append(data[start : start + size])
            start += size
        return pieces
