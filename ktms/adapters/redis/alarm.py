"""An alarm that does not blame Redis for our own standing still.

When the loop comes late, an answer may lie in the socket unread; it is read before the time is called over.
"""

import asyncio
from collections.abc import Callable

LATE_S = 0.02
"""A loop that comes later than this has stood still; below it there is no difference to a slow answer."""

MOMENT_S = 0.005
"""Some turns of the loop: enough to read what has come."""


class Alarm:
    """Rings once, at `at` by the loop's clock, or a moment after the loop goes on; never after `cancel`."""

    def __init__(self, at: float, ring: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._at = at
        self._ring = ring
        self._handle: asyncio.TimerHandle = self._loop.call_at(at, self._due)

    def cancel(self) -> None:
        """Do not ring; twice is harmless."""
        self._handle.cancel()

    def _due(self) -> None:
        now = self._loop.time()
        if now - self._at > LATE_S:
            self._handle = self._loop.call_at(now + MOMENT_S, self._ring)
        else:
            self._ring()
