"""Time, as the engine needs it."""

from typing import Protocol


class Clock(Protocol):
    """Two clocks that never mix: durations and deadlines use `monotonic`, stamps and expiry dates use `wall`."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; never goes back, untouched by wall-clock jumps (FG5).

        It is the clock that the loop's timers count on.
        """
        ...

    def wall(self) -> float:
        """Seconds since 1970 UTC; may jump."""
        ...
