"""Plain numbers under bounded sets of labels: counters, histograms, values of the moment.

Rules: adding never raises and never grows past its limit; label sets beyond the limit are folded into one called
`other`, so a sum over all sets stays right. Not here: what is counted (tally.py), the text format (exposition.py).
"""

from bisect import bisect_left
from collections.abc import Mapping

Labels = tuple[str, ...]

COUNTER_SETS_MAX = 2_000
"""Label sets per counter: 100 models on 4 vendors with 5 statuses each, in a scrape of some 200 kB."""

HISTOGRAM_SETS_MAX = 300
"""Label sets per histogram; each is some 17 lines of the scrape, so the bound is lower than that of counters."""

GAUGE_SETS_MAX = 20_000
"""Label sets per gauge: twice the largest fleet of nodes that we promise to carry."""

OTHER = "other"
"""Stands for every label value once a family is full."""


class Counters:
    """One number per label set; it only grows."""

    def __init__(self, name: str, about: str, label_names: tuple[str, ...]) -> None:
        self.name = name
        self.about = about
        self.label_names = label_names
        self.folded_total = 0
        self._values: dict[Labels, float] = {}
        self._other = (OTHER,) * len(label_names)

    def add(self, labels: Labels, amount: float = 1) -> None:
        """Add to one label set."""
        values = self._values
        if labels in values:
            values[labels] += amount
        elif len(values) < COUNTER_SETS_MAX:
            values[labels] = amount
        else:
            self.folded_total += 1
            values[self._other] = values.get(self._other, 0) + amount

    @property
    def values(self) -> Mapping[Labels, float]:
        """All label sets seen so far."""
        return self._values


class Spread:
    """Distribution of one label set: how many fell into each bucket, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * (buckets + 1)  # the last one is +Inf
        self.sum = 0.0


class Histograms:
    """One distribution of seconds per label set. `bounds_s` are inclusive upper bounds, ascending."""

    def __init__(self, name: str, about: str, label_names: tuple[str, ...], bounds_s: tuple[float, ...]) -> None:
        self.name = name
        self.about = about
        self.label_names = label_names
        self.bounds_s = bounds_s
        self.folded_total = 0
        self._spreads: dict[Labels, Spread] = {}
        self._other = (OTHER,) * len(label_names)

    def observe(self, labels: Labels, value_s: float) -> None:
        """Add one duration to one label set."""
        spread = self._spreads.get(labels)
        if spread is None:
            spread = self._admit(labels)
        spread.counts[bisect_left(self.bounds_s, value_s)] += 1
        spread.sum += value_s

    def _admit(self, labels: Labels) -> Spread:
        if len(self._spreads) >= HISTOGRAM_SETS_MAX:
            self.folded_total += 1
            labels = self._other
        return self._spreads.setdefault(labels, Spread(len(self.bounds_s)))

    @property
    def spreads(self) -> Mapping[Labels, Spread]:
        """All label sets seen so far."""
        return self._spreads


class Gauges:
    """Values of the moment of one family, under at most one label."""

    def __init__(self, name: str, about: str, label_name: str | None) -> None:
        self.name = name
        self.about = about
        self.label_names = () if label_name is None else (label_name,)
        self.folded_total = 0
        self._values: dict[Labels, float] = {}

    def set(self, label: str, value: float) -> None:
        """Set the value of one label; a new label of a full family is not kept, only counted."""
        labels = (label,) if self.label_names else ()
        if labels not in self._values and len(self._values) >= GAUGE_SETS_MAX:
            self.folded_total += 1
            return
        self._values[labels] = value

    @property
    def values(self) -> Mapping[Labels, float]:
        """All labels set so far."""
        return self._values
