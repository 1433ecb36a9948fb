"""The gateway's clock, which a test may move on: a rest of 30 s is over at once."""

from ktms.ports.clock import Clock


class ShiftedClock:
    """A clock plus what it was moved on by. Timers of the loop are not moved, only what is read from here."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead_s = 0.0
        self._wall_off_s = 0.0

    def monotonic(self) -> float:
        """Give the monotonic time, moved on."""
        return self._clock.monotonic() + self._ahead_s

    def wall(self) -> float:
        """Give the wall time, moved on."""
        return self._clock.wall() + self._ahead_s + self._wall_off_s

    def advance(self, seconds: float) -> None:
        """Let this much time have passed; it never goes back."""
        assert seconds >= 0, seconds
        self._ahead_s += seconds

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or a time server does; no time passes."""
        self._wall_off_s += seconds
