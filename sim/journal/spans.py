"""When something held: spans of time on the run's clock, and questions about them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """From one moment to another, both included; `end` is infinite where it never ended."""

    start: float
    end: float = math.inf

    def overlaps(self, since: float, until: float) -> bool:
        """Whether any moment of it lies between the two."""
        return self.start <= until and self.end >= since

    def shared_s(self, since: float, until: float) -> float:
        """Give how many seconds of it lie between the two."""
        return max(0.0, min(self.end, until) - max(self.start, since))


def any_overlaps(spans: Iterable[Span], since: float, until: float) -> bool:
    """Whether one of the spans has a moment between the two."""
    return any(span.overlaps(since, until) for span in spans)


def joined(spans: Iterable[Span], gap_s: float) -> list[Span]:
    """Take spans with no more than so much between them for one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if found and span.start <= found[-1].end + gap_s:
            found[-1] = Span(found[-1].start, max(found[-1].end, span.end))
        else:
            found.append(span)
    return found


def switched(moments: Iterable[tuple[float, bool]]) -> list[Span]:
    """Turn switches, in order, into the spans in which at least one thing was on."""
    spans: list[Span] = []
    on, since = 0, 0.0
    for at, turned_on in moments:
        before, on = on, max(0, on + (1 if turned_on else -1))
        if on and not before:
            since = at
        elif before and not on:
            spans.append(Span(since, at))
    if on:
        spans.append(Span(since))
    return spans
