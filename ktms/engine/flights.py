"""One question at a time: whoever wants the same answer waits for the one who asks, and no longer than it must.

Rules: the first one leads, the others wait for it; where it fails or leaves, the next one leads; where it takes
longer than FLIGHT_S it hangs, and whoever notices first leads in its place, while the others wait for that one;
nobody waits longer than PATIENCE_S in all; where an answer cannot be shared, each asks alone.
Not here: what is asked (`answer_cache.py`).
"""

import asyncio
from enum import Enum

from ktms.dialects.openai_chat.kept import KeptAnswer

FLIGHT_S = 15.0
"""Most answers are whole by then."""

PATIENCE_S = 2 * FLIGHT_S
"""One flight that hangs is waited for, and the one in its place; then an answer of one's own is quicker."""


class Landing(Enum):
    """How a flight ends that brought no answer for all."""

    FAILED = "the next one asks"
    OPEN = "each asks alone"


class Flight:
    """One question under way. Its leader lands it in the same block in which it took off."""

    def __init__(self, flights: "Flights", key: bytes, hangs_at: float) -> None:
        self._flights = flights
        self._key = key
        self._hangs_at = hangs_at
        self._landed: asyncio.Future[KeptAnswer | Landing] = asyncio.get_running_loop().create_future()

    def land(self, end: KeptAnswer | Landing) -> None:
        """Tell those who wait how it ended; only the first word counts."""
        if not self._landed.done():
            self._landed.set_result(end)
            self._flights.forget(self._key, self)

    async def outcome(self, until: float) -> KeptAnswer | Landing | None:
        """Wait for the end; None when it hangs, or at `until`, which is by the loop's clock."""
        left_s = min(until, self._hangs_at) - asyncio.get_running_loop().time()
        if not self._landed.done() and left_s > 0:
            await asyncio.wait((self._landed,), timeout=left_s)
        return self._landed.result() if self._landed.done() else None


class Flights:
    """The questions under way in this replica: never more than there are calls."""

    def __init__(self) -> None:
        self._under_way: dict[bytes, Flight] = {}

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._under_way)

    async def board(self, key: bytes) -> KeptAnswer | Flight | None:
        """Give the answer of somebody who asked the same, or a flight to lead, or None: ask alone."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while (flight := self._under_way.get(key)) is not None:
            end = await flight.outcome(until)
            if isinstance(end, KeptAnswer):
                return end
            if end is Landing.OPEN or loop.time() >= until:
                return None
            if end is None and self._under_way.get(key) is flight:
                break  # it hangs, and nobody has taken its place yet
        mine = self._under_way[key] = Flight(self, key, loop.time() + FLIGHT_S)
        return mine

    def forget(self, key: bytes, flight: Flight) -> None:
        """Take a flight off the list, unless another has taken its place."""
        if self._under_way.get(key) is flight:
            del self._under_way[key]
