"""How long a call would wait for a slot (Little's law), and how long it may.

`wait = depth * mean holding time / slots`. A forecast beyond the limit is not waited out to see whether it was
right: the call goes on to the next model at once. How right forecasts are is measured (`Calibration`).
"""

from collections import deque
from collections.abc import Sequence
from heapq import heapify, heapreplace
from math import inf, isfinite

HOLDING_UNKNOWN_S = 10.0
"""Assumed with too few samples: an ordinary answer on an ordinary machine."""

SAMPLES_MIN = 5
"""Fewer holding times say nothing about the mean."""

SAMPLES_MAX = 100
"""Older holding times are forgotten: the traffic of an hour ago is not that of now."""

INTERACTIVE_WAIT_MAX_S = 0.25
"""What somebody who watches the screen is made to wait for a machine of ours, over all models of the chain."""

CHAIN_WAITS_MAX = 2.0
"""Waits along a chain add up to this many times its largest limit, at most."""

PROGRESS_DEPTH_MAX = 4
"""So many times the slots down the line, the progress of those that run no longer matters."""

HELD_BACK_MAX_S = 0.02
"""Some ways to the store and back, so that moments tell who has waited longer; nothing beside a holding time."""

PROGRESS_SLOTS_MAX = 256
"""In a larger fleet slots come free all the time: the mean says it all, and costs the same however large it is."""

WAITED_MIN_S = 0.05
"""Shorter waits are those of one turn of the queue; against them any forecast looks absurd."""


class HoldingTimes:
    """How long slots of one model were held, aborted answers included."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=SAMPLES_MAX)

    def __repr__(self) -> str:
        return f"HoldingTimes({self.mean_s:.3f}, samples={len(self._seconds)})"

    def take(self, seconds: float) -> None:
        """Take the holding time of one lease that has ended."""
        assert seconds >= 0, seconds
        self._seconds.append(seconds)

    @property
    def mean_s(self) -> float:
        """The mean over the last SAMPLES_MAX; HOLDING_UNKNOWN_S while there are too few."""
        if len(self._seconds) < SAMPLES_MIN:
            return HOLDING_UNKNOWN_S
        return sum(self._seconds) / len(self._seconds)

    def left_s(self, held_s: float) -> float:
        """Expect how long a slot held for `held_s` will still be: like those that were held longer than that."""
        if len(self._seconds) < SAMPLES_MIN:
            return max(HOLDING_UNKNOWN_S - held_s, HOLDING_UNKNOWN_S / 2)
        longer = [seconds for seconds in self._seconds if seconds > held_s]
        if not longer:
            return self.mean_s / 2  # it has outlived all others: nothing says when it will end
        return sum(longer) / len(longer) - held_s


def forecast_s(*, depth: int, holding_s: float, slots: int) -> float:
    """Expect how long the last of `depth` calls waits (itself counted); without slots: for ever."""
    return depth * holding_s / slots if slots > 0 else inf


def sharpened_s(*, depth: int, holding_s: float, left_s: Sequence[float]) -> float:
    """Forecast the same from the progress of what runs: `left_s` are the expected rests, one per slot in use.

    Slots come free in that order, and each of those ahead in line then holds one for `holding_s`.
    """
    assert left_s, "no slot in use, nothing to wait for"
    assert depth >= 1, depth
    if depth > PROGRESS_DEPTH_MAX * len(left_s):
        return forecast_s(depth=depth, holding_s=holding_s, slots=len(left_s))
    ends = list(left_s)
    heapify(ends)
    for _ in range(depth - 1):
        heapreplace(ends, ends[0] + holding_s)
    return ends[0]


def held_back_s(*, waited_s: float, limit_s: float) -> float:
    """Give how much later than others somebody asks for a slot that came free, where other replicas wait too.

    Whoever has used up most of its patience asks first, so that a replica which frees a slot does not serve its
    own latest comer before somebody else's oldest.
    """
    left = 1.0 - waited_s / limit_s if limit_s > 0 else 0.0
    return HELD_BACK_MAX_S * min(max(left, 0.0), 1.0)


class Patience:
    """What one call may still wait. `queue_timeouts_ms` are those of all models of its chain."""

    __slots__ = ("_interactive", "_left_s")

    def __init__(self, *, interactive: bool, queue_timeouts_ms: Sequence[int]) -> None:
        self._interactive = interactive
        chain_s = CHAIN_WAITS_MAX * max(queue_timeouts_ms, default=0) / 1000
        self._left_s = INTERACTIVE_WAIT_MAX_S if interactive else chain_s

    def __repr__(self) -> str:
        return f"Patience(left_s={self._left_s:.3f}, interactive={self._interactive})"

    def limit_s(self, queue_timeout_ms: int) -> float:
        """Give what may be waited now for a model with this limit of its own; never below 0."""
        return max(min(queue_timeout_ms / 1000, self._left_s), 0.0)

    def used(self, seconds: float) -> None:
        """Book a wait, whatever came of it."""
        self._left_s -= seconds


class _Endless(Patience):
    """Waits as long as it takes; the caller knows a deadline."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(interactive=False, queue_timeouts_ms=())

    def limit_s(self, queue_timeout_ms: int) -> float:
        """Give no limit."""
        del queue_timeout_ms
        return inf

    def used(self, seconds: float) -> None:
        """Forget it."""


ENDLESS = _Endless()
"""The patience of a line of a batch."""


class Calibration:
    """How far forecasts are off: mean of |forecast - actual| / actual, over waits that were really waited."""

    __slots__ = ("_sum", "samples")

    def __init__(self) -> None:
        self._sum = 0.0
        self.samples = 0

    def __repr__(self) -> str:
        return f"Calibration({self.error}, samples={self.samples})"

    def take(self, forecast_s: float, actual_s: float) -> None:
        """Take one wait that ended with a slot; too short ones and endless forecasts cannot be judged."""
        if actual_s < WAITED_MIN_S or not isfinite(forecast_s):
            return
        self._sum += abs(forecast_s - actual_s) / actual_s
        self.samples += 1

    @property
    def error(self) -> float | None:
        """0.2: a fifth off, on average; None: nothing was waited yet."""
        return self._sum / self.samples if self.samples else None
