"""Clocks that tests and simulated worlds move: one by hand, one that follows its loop."""

import asyncio


class ManualClock:
    """Implements the `Clock` port; time passes only in `advance`, and the wall jumps only in `jump_wall`."""

    def __init__(self, *, monotonic: float = 1_000.0, wall: float = 1_790_000_000.0) -> None:
        self._monotonic = monotonic
        self._wall = wall

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back."""
        return self._monotonic

    def wall(self) -> float:
        """Seconds since 1970 UTC."""
        return self._wall

    def advance(self, seconds: float) -> None:
        """Let time pass on both clocks."""
        assert seconds >= 0, seconds
        self._monotonic += seconds
        self._wall += seconds

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or NTP does; no time passes."""
        self._wall += seconds


class LoopClock:
    """Implements the `Clock` port on the running loop's time: a loop with virtual time carries it along."""

    def __init__(self, *, wall_at_zero: float = 1_790_000_000.0) -> None:
        self._wall_at_zero = wall_at_zero

    def monotonic(self) -> float:
        """Seconds of the running loop's clock, the one its timers use."""
        return asyncio.get_running_loop().time()

    def wall(self) -> float:
        """Seconds since 1970 UTC."""
        return self._wall_at_zero + self.monotonic()

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back; no time passes."""
        self._wall_at_zero += seconds
