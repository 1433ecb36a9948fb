"""The clock of one simulated host, on the loop's time: its wall may be wrong, drift and jump; its pace may not.

Rules: `monotonic` runs exactly as the loop's timers do, but does not count from the same moment, so code that
takes a moment of the one clock for a moment of the other goes wrong in a world and not in a user's house.
"""

import asyncio

from sim.loop import STARTS_AT

WALL_AT_START = 1_790_000_000.0
"""True wall time when a world begins: September 2026."""


class HostClock:
    """Implements the `Clock` port.

    `wall_offset_s` is how far the wall is off at the start, `drift` how much faster it runs, as a share;
    `boot_offset_s` is how long the host was up when the world began. `loop` None: the running one, when asked.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        wall_offset_s: float = 0.0,
        drift: float = 0.0,
        boot_offset_s: float = 0.0,
    ) -> None:
        self._loop = loop
        self._wall_offset_s = wall_offset_s
        self._drift = drift
        self._boot_offset_s = boot_offset_s

    def monotonic(self) -> float:
        """Seconds since the host was switched on; never goes back."""
        return self._now() + self._boot_offset_s

    def wall(self) -> float:
        """Seconds since 1970 UTC, as this host believes."""
        return WALL_AT_START + (self._now() - STARTS_AT) * (1 + self._drift) + self._wall_offset_s

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or NTP does; no time passes."""
        self._wall_offset_s += seconds

    def _now(self) -> float:
        return (self._loop or asyncio.get_running_loop()).time()
