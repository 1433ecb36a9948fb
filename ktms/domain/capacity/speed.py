"""How fast nodes are: from answers to rates, from rates to the factor `speed` of a seat.

A rate is brought to what one stream on an idle node would show, or a busy fast node would be punished twice: by
its load and by the speed that the load costs. Averages go by time; what few samples say is drawn towards 1. Calls
for which the model had to be loaded first are no samples at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, sqrt
from statistics import median

from ktms.domain.capacity.seat import DECODE_UNKNOWN_TOKENS_PER_S, PREFILL_UNKNOWN_TOKENS_PER_S, Seat

DECODED_TOKENS_MIN = 16
"""A rate over fewer tokens is mostly noise."""

READ_TOKENS_MIN = 16
"""Below this the time to the first token is that of the way, not of the reading."""

DECODE_MAX_TOKENS_PER_S = 10_000.0
PREFILL_MAX_TOKENS_PER_S = 1_000_000.0
"""Beyond these a whole answer came at once out of somebody's buffer: nothing was measured."""

TAU_S = 300.0
"""A sample counts for a third after five minutes: a laptop on battery shows within one coffee."""

SLOPE = 0.35
"""How much each further stream slows all of them, where nothing else is known; as in `Seat`."""

DECODE_SHARE = 0.7
PREFILL_SHARE = 0.3

SPEED_MIN = 0.25
SPEED_MAX = 4.0
"""One odd measurement neither starves a node nor gives it everything."""

PRIOR_SAMPLES = 5
"""So many samples at 1 are thought in front of the real ones."""

OPTIMISM = 1.2
"""A node not measured yet is thought a little faster than the middle of the fleet, so that it is asked."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a node has shown for one model: tokens per second, read (`prefill`) and written (`decode`)."""

    prefill_tokens_per_s: float
    decode_tokens_per_s: float

    def __post_init__(self) -> None:
        assert self.prefill_tokens_per_s > 0, self
        assert self.decode_tokens_per_s > 0, self


@dataclass(frozen=True, slots=True)
class EngineTimings:
    """What llama.cpp says itself about an answer: tokens really read and written, and how long each took."""

    prompt_tokens: int
    prompt_ms: float
    predicted_tokens: int
    predicted_ms: float


@dataclass(frozen=True, slots=True)
class SpeedSample:
    """Rates of one answer as they were, with `concurrency` streams on the node; None: it does not tell."""

    decode_tokens_per_s: float | None
    prefill_tokens_per_s: float | None
    concurrency: int


def sample_of(  # noqa: PLR0913  # the facts of one answer, each named
    *,
    prompt_tokens: int,
    cached_tokens: int,
    completion_tokens: int,
    asked_at: float,
    first_token_at: float | None,
    last_token_at: float | None,
    concurrency: int,
    estimated: bool,
    timings: EngineTimings | None = None,
) -> SpeedSample | None:
    """Give what an answer shows of its node's speed; None when it shows nothing, or nonsense.

    `first_token_at` is that of the first content, reasoning or tool delta that was not empty. `estimated`: the
    counts are guesses of ours, and a guess is no rate. The engine's own `timings` win where they say something.
    """
    decode = prefill = None
    if first_token_at is not None:
        prefill = _prefill(prompt_tokens - cached_tokens, first_token_at - asked_at)
        if last_token_at is not None and not estimated:
            decode = _decode(completion_tokens, completion_tokens - 1, last_token_at - first_token_at)
    if timings is not None:
        own = timings.predicted_tokens
        decode = _decode(own, own, timings.predicted_ms / 1000) or decode
        prefill = _prefill(timings.prompt_tokens, timings.prompt_ms / 1000) or prefill
    if concurrency < 1 or (decode is None and prefill is None):
        return None
    return SpeedSample(decode, prefill, concurrency)


def _decode(tokens: int, steps: int, duration_s: float) -> float | None:
    return _rate(steps, duration_s, DECODE_MAX_TOKENS_PER_S) if tokens >= DECODED_TOKENS_MIN else None


def _prefill(tokens: int, duration_s: float) -> float | None:
    return _rate(tokens, duration_s, PREFILL_MAX_TOKENS_PER_S) if tokens >= READ_TOKENS_MIN else None


def _rate(tokens: int, duration_s: float, max_tokens_per_s: float) -> float | None:
    if not isfinite(duration_s) or duration_s <= 0:
        return None
    rate = tokens / duration_s
    return rate if rate <= max_tokens_per_s else None


class _Mean:
    """A mean by time: what a sample weighs follows from how long ago the last one came.

    While there are few of them each weighs the same, or the first would rule for minutes.
    """

    __slots__ = ("_at", "samples", "value")

    def __init__(self) -> None:
        self.value: float | None = None
        self.samples = 0
        self._at = -inf

    def take(self, value: float, now: float) -> None:
        self.samples += 1
        share = max(1.0 - exp(-max(now - self._at, 0.0) / TAU_S), 1.0 / self.samples)
        self.value = value if self.value is None else self.value + share * (value - self.value)
        self._at = max(now, self._at)


class SpeedMeter:
    """The rates of one model on one node, as one stream on the idle node would see them.

    Averaged are seconds per token for reading and tokens per second for writing: the terms of the weight.
    """

    __slots__ = ("_decode", "_read_s", "_slope", "samples")

    def __init__(self, slope: float = SLOPE) -> None:
        self._slope = slope
        self._decode = _Mean()
        self._read_s = _Mean()
        self.samples = 0

    def __repr__(self) -> str:
        return f"SpeedMeter({self.prefill_tokens_per_s}, {self.decode_tokens_per_s}, samples={self.samples})"

    def take(self, sample: SpeedSample, now: float) -> None:
        """Take one answer into account; `now` is monotonic."""
        self.samples += 1
        slowed = 1.0 + self._slope * (sample.concurrency - 1)
        if sample.decode_tokens_per_s is not None:
            self._decode.take(sample.decode_tokens_per_s * slowed, now)
        if sample.prefill_tokens_per_s is not None:
            self._read_s.take(1.0 / (sample.prefill_tokens_per_s * slowed), now)

    @property
    def decode_tokens_per_s(self) -> float | None:
        """Written by one stream; None: nothing yet."""
        return self._decode.value

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Read by one stream; None: nothing yet."""
        return None if self._read_s.value is None else 1.0 / self._read_s.value

    def speed(self) -> Speed | None:
        """Give both rates for the timers; None unless both are known."""
        prefill, decode = self.prefill_tokens_per_s, self.decode_tokens_per_s
        return None if prefill is None or decode is None else Speed(prefill, decode)


def set_speeds(seats: Sequence[tuple[Seat, SpeedMeter]]) -> None:
    """Set factor and rates of all seats of one model, each against the middle of those that were measured."""
    decode = _middle([rate for _, meter in seats if (rate := meter.decode_tokens_per_s) is not None])
    prefill = _middle([rate for _, meter in seats if (rate := meter.prefill_tokens_per_s) is not None])
    for seat, meter in seats:
        seat.speed = _factor(meter, decode, prefill)
        seat.decode_tokens_per_s = _known(meter.decode_tokens_per_s, decode, DECODE_UNKNOWN_TOKENS_PER_S)
        seat.prefill_tokens_per_s = _known(meter.prefill_tokens_per_s, prefill, PREFILL_UNKNOWN_TOKENS_PER_S)


def _middle(rates: Sequence[float]) -> float | None:
    """Give the median; of two the geometric mean, or one outlier would halve the other."""
    if not rates:
        return None
    return sqrt(rates[0] * rates[1]) if len(rates) == 2 else median(rates)


def _factor(meter: SpeedMeter, decode: float | None, prefill: float | None) -> float:
    ratio = DECODE_SHARE * _ratio(meter.decode_tokens_per_s, decode)
    ratio += PREFILL_SHARE * _ratio(meter.prefill_tokens_per_s, prefill)
    clamped = min(max(ratio, SPEED_MIN), SPEED_MAX)
    return (meter.samples * clamped + PRIOR_SAMPLES) / (meter.samples + PRIOR_SAMPLES)


def _ratio(rate: float | None, middle: float | None) -> float:
    return 1.0 if rate is None or middle is None else rate / middle


def _known(rate: float | None, middle: float | None, unknown: float) -> float:
    if rate is not None:
        return rate
    return unknown if middle is None else middle * OPTIMISM
