"""Models that should be brought into memory: wanted by calls, done beside them, one load per model and node.

Rules: a call never loads by waiting for its own answer; a load that has begun is not begun again; how long a load
took is remembered for the next forecast. Not here: how a load is done (`probe.py`).
"""

import asyncio
from collections import deque

from ktms.domain.capacity.seat import Seat
from ktms.domain.ids import NodeName, VendorModel

WANTED_MAX = 1000
"""Loads waiting to be begun; a fleet that is all cold has no use for more at once."""

LOAD_AGAIN_S = 5.0
"""A load that failed, or that another replica is at, is not begun anew at every call."""

_Key = tuple[NodeName, VendorModel]


class Loads:
    """Loads wanted and under way, of this replica."""

    def __init__(self) -> None:
        self._queue: deque[Seat] = deque()
        self._pending: dict[_Key, float | None] = {}  # when it began; None while it waits to be begun
        self._took_s: dict[_Key, float] = {}
        self._rests_until: dict[_Key, float] = {}
        self._somebody = asyncio.Event()

    def want(self, seat: Seat, now: float) -> None:
        """Ask for a load, unless it is wanted or under way, or has just failed."""
        key = _key(seat)
        if key in self._pending or len(self._queue) >= WANTED_MAX or now < self._rests_until.get(key, now):
            return
        self._pending[key] = None
        self._queue.append(seat)
        self._somebody.set()

    async def next(self) -> Seat:
        """Wait for the next load to do."""
        while not self._queue:
            self._somebody.clear()
            await self._somebody.wait()
        return self._queue.popleft()

    def began(self, seat: Seat, now: float) -> None:
        """Note that a load has begun."""
        self._pending[_key(seat)] = now

    def ended(self, seat: Seat, now: float, *, loaded: bool) -> None:
        """Note that a load is over; one that failed may be wanted again, if not at once."""
        key = _key(seat)
        began_at = self._pending.pop(key, None)
        if not loaded:
            self._rests_until[key] = now + LOAD_AGAIN_S
        elif began_at is not None:
            self._took_s[key] = now - began_at

    def ready_in(self, seat: Seat, now: float, unknown_s: float) -> float:
        """Seconds until a cold model can be expected in memory; `unknown_s` where none was seen loading."""
        key = _key(seat)
        began_at = self._pending.get(key)
        expected_s = self._took_s.get(key, unknown_s)
        return expected_s if began_at is None else max(0.0, began_at + expected_s - now)


def _key(seat: Seat) -> _Key:
    return (seat.state.node.name, seat.vendor_model)
