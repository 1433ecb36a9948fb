"""Tokens per second of one stream, from what an engine counts: tokens and the seconds spent on them.

Rules: the engine's own seconds, so waiting in a queue is no slowness; short answers are no sample; a counter that
went back belongs to an engine that was started again. Rounded, so that a speed is news only when it changes.
Pure. Not here: where the counts are found.
"""

import re

SAMPLE_MIN = 16
"""Fewer tokens say more about the first one than about the rest."""

PACE_MAX_TOKENS_PER_S = 1_000_000.0
"""What lies beyond is a mistake."""

LINE_MAX_BYTES = 4096
"""A series with a dozen labels has a few hundred."""

_VALUE = re.compile(
    rb"""(?:[ \t]*+\{[^{}]*+\})?+[ \t]*+(?<=[ \t}])
    ([0-9]++\.?[0-9]*+(?:[eE][+-]?[0-9]{1,3})?)
    (?:[ \t]++-?[0-9]++)?[ \t\r]*+""",
    re.VERBOSE,
)
"""What follows the name of a series: labels, a value, perhaps a time. Nothing in it is matched twice."""


def total(text: bytes, name: bytes) -> float | None:
    """Sum the series of a name (Prometheus text); None where there is none."""
    values = []
    for line in text.split(b"\n"):
        found = (
            _VALUE.fullmatch(line, len(name)) if line.startswith(name) and len(line) <= LINE_MAX_BYTES else None
        )
        if found is not None:
            values.append(float(found[1]))
    return sum(values) if values else None


def rounded(tokens_per_s: float) -> float | None:
    """Give two digits of a speed; None where it is none."""
    return float(f"{tokens_per_s:.2g}") if 0 < tokens_per_s <= PACE_MAX_TOKENS_PER_S else None


class Pace:
    """The speed of the latest answers of one model. `least`: what makes a sample."""

    def __init__(self, least: int = SAMPLE_MIN) -> None:
        self._least = least
        self._tokens = self._seconds = 0.0
        self.tokens_per_s: float | None = None

    def hear(self, tokens: float | None, seconds: float | None) -> float | None:
        """Take in two counters as they are now, and give the speed; None until there is a sample."""
        if tokens is None or seconds is None:
            return self.tokens_per_s
        if tokens < self._tokens or seconds < self._seconds:
            self._tokens = self._seconds = 0.0
        if tokens - self._tokens >= self._least and seconds > self._seconds:
            self.tokens_per_s = rounded((tokens - self._tokens) / (seconds - self._seconds))
            self._tokens, self._seconds = tokens, seconds
        return self.tokens_per_s
