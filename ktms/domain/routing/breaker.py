"""The breaker of one vendor or node origin: a few failures in a row stop it from being dialled for a while.

Closed passes, open refuses, half open has exactly one trial under way. The transitions are a table; time is an
argument. A failure is what `outcome.py` says counts: never a 4xx, never a client that left. One breaker is kept
per replica, and it works for a single target too (a fast 503 is better than a slow one).
"""

from enum import Enum
from typing import final

FAILURES_MAX = 5
"""Consecutive failures that open it: one or two are weather, five in a row are an outage."""

OPEN_S = 30.0
"""How long it refuses before one trial passes."""

TRIAL_MAX_S = 660.0
"""A trial that was never told about counts as lost after the longest time a whole call may take."""

TRIAL_WAIT_S = 1.0
"""When to come back while a trial is under way: its end is near but not known."""


class State(Enum):
    """The value is its name in logs; `level` is its number in the metric."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"

    @property
    def level(self) -> int:
        """0 closed, 1 half open, 2 open."""
        return _LEVEL[self]


class Event(Enum):
    """What moves a breaker."""

    SUCCEEDED = "an answer came"
    FAILED = "a failure, not yet the last allowed"
    TRIPPED = "the last allowed failure in a row"
    RESTED = "the open time is over and somebody asks"
    ABANDONED = "the trial ended without a verdict"


_LEVEL = {State.CLOSED: 0, State.HALF_OPEN: 1, State.OPEN: 2}

NEXT = {
    (State.CLOSED, Event.SUCCEEDED): State.CLOSED,
    (State.CLOSED, Event.FAILED): State.CLOSED,
    (State.CLOSED, Event.TRIPPED): State.OPEN,
    (State.CLOSED, Event.ABANDONED): State.CLOSED,
    # Calls that began before it opened report late; only a trial may close it, and they do not prolong it.
    (State.OPEN, Event.SUCCEEDED): State.OPEN,
    (State.OPEN, Event.FAILED): State.OPEN,
    (State.OPEN, Event.TRIPPED): State.OPEN,
    (State.OPEN, Event.ABANDONED): State.OPEN,
    (State.OPEN, Event.RESTED): State.HALF_OPEN,
    (State.HALF_OPEN, Event.SUCCEEDED): State.CLOSED,
    (State.HALF_OPEN, Event.FAILED): State.OPEN,
    (State.HALF_OPEN, Event.TRIPPED): State.OPEN,
    (State.HALF_OPEN, Event.ABANDONED): State.OPEN,
}
"""Every transition there is; RESTED happens to an open breaker only."""


@final
class Breaker:
    """State of one breaker. All times are monotonic seconds."""

    __slots__ = ("_failures", "_opened_at", "_trial_at", "state", "trials")

    def __init__(self) -> None:
        self.state = State.CLOSED
        self._failures = 0
        self._opened_at = 0.0
        self._trial_at = 0.0
        self.trials = 0  # so far; the newest has this number

    def __repr__(self) -> str:
        told = {
            State.CLOSED: f"{self._failures}/{FAILURES_MAX} failures",
            State.OPEN: f"since {self._opened_at:.3f}",
            State.HALF_OPEN: f"trial since {self._trial_at:.3f}",
        }
        return f"Breaker({self.state.value}, {told[self.state]})"

    def admits(self, now: float) -> bool:
        """Whether one call may pass. True while `on_trial` means that this very call is the one trial."""
        if self.state is State.CLOSED:
            return True
        if self.state is State.HALF_OPEN and now - self._trial_at >= TRIAL_MAX_S:
            self._move(Event.ABANDONED)
        if self.state is State.HALF_OPEN or self.opens_in(now) > 0:
            return False
        self._move(Event.RESTED)
        self._trial_at = now
        self.trials += 1
        return True

    @property
    def on_trial(self) -> bool:
        """Whether a trial is under way; read right after `admits`, it tells a caller that it is the trial."""
        return self.state is State.HALF_OPEN

    def succeeded(self) -> None:
        """Count an answer, whatever it said: the origin is alive."""
        self._failures = 0
        self._move(Event.SUCCEEDED)

    def failed(self, now: float) -> None:
        """Count a failure of the origin."""
        self._failures += 1
        before = self.state
        self._move(Event.TRIPPED if self._failures >= FAILURES_MAX else Event.FAILED)
        if before is not State.OPEN:
            self._opened_at = now

    def abandoned(self) -> None:
        """Give the trial back: it was cancelled, or not dialled after all. Only the trial itself says this."""
        self._move(Event.ABANDONED)

    def opens_in(self, now: float) -> float:
        """Seconds until a call may pass again; 0 when one may now."""
        if self.state is State.CLOSED:
            return 0.0
        if self.state is State.HALF_OPEN:
            return TRIAL_WAIT_S if now - self._trial_at < TRIAL_MAX_S else 0.0
        return max(0.0, self._opened_at + OPEN_S - now)

    def _move(self, event: Event) -> None:
        self.state = NEXT[self.state, event]
