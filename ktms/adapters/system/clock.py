"""The real clock: the loop's own time for durations, the machine's for stamps.

Durations come from the running loop, so a loop with virtual time carries the clock with it.
"""

import asyncio
import time


class SystemClock:
    """Implements the `Clock` port; `monotonic` needs a running loop."""

    __slots__ = ()

    def monotonic(self) -> float:
        """Seconds of the running loop's clock, the one its timers use."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Seconds since 1970 UTC as the machine believes them; may jump."""
        return time.time()  # noqa: TID251 - this is the clock everybody else takes
