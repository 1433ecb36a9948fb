"""What an experiment is: what it breaks, for how long, by whom it must have been felt, and what must be seen then.

An experiment proves an id only if its fault was felt by enough calls, if all that it expects of the id was seen,
and if no judge of the simulator found anything wrong. Not here: carrying it out (`conduct.py`).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace

from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix
from chaos.traffic.measured import Measured, measured
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of


@dataclass(frozen=True, slots=True)
class Spans:
    """Seconds of a run: before the fault, during it, and after it is healed."""

    before_s: float = 3.0
    fault_s: float = 8.0
    after_s: float = 6.0


@dataclass(frozen=True, slots=True)
class Expected:
    """One thing that must be seen of an id; `text` says what, and what was there instead."""

    id: str
    holds: bool
    text: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A run that is over: its facts, and when its fault was on, in seconds of the run."""

    journal: Journal
    began_at: float
    ended_at: float
    notes: dict[str, float] = field(default_factory=dict)

    @property
    def watch(self) -> Watch:
        """The index over its facts."""
        return watch_of(self.journal)

    @property
    def before(self) -> Measured:
        """Calls that were sent before the fault."""
        return measured(self.journal, until=self.began_at)

    @property
    def during(self) -> Measured:
        """Calls that were sent while it was on."""
        return measured(self.journal, self.began_at, self.ended_at)

    def after(self, seconds: float = 0.0) -> Measured:
        """Calls that were sent so long after it had ended, or later."""
        return measured(self.journal, self.ended_at + seconds)

    def between(self, since_s: float, until_s: float) -> Measured:
        """Calls that were sent in this span, counted from the beginning of the fault."""
        return measured(self.journal, self.began_at + since_s, self.began_at + until_s)

    @property
    def recovered_s(self) -> float:
        """How long after the end of the fault the last call was sent that failed; 0 where none did."""
        last = max(self.after().failed_by_second, default=None)
        return 0.0 if last is None else max(0.0, last + 1 - self.ended_at)


Breaks = Callable[[Stand], AbstractAsyncContextManager[None]]
"""The fault is on while the block runs; it notes itself in the journal."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What one guard of the product keeps small: `says` is its name and unit.

    Without the guard it is at least `worse_by` times as much, and `worse_min` at least.
    """

    guard: str
    says: str
    of: Callable[[Broken], float]
    worse_min: float
    worse_by: float = 2.0

    def worsened(self, guarded: float, unguarded: float) -> bool:
        """Whether it was the guard that kept it small."""
        return unguarded >= max(self.worse_min, self.worse_by * guarded)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment. `felt` counts the calls that met the fault; without `felt_min` of them nothing is proven.

    `long` are its spans at full length.
    """

    name: str
    title: str
    ids: tuple[str, ...]
    breaks: Breaks
    felt: Callable[[Broken], int]
    expects: Callable[[Broken], Iterator[Expected]]
    felt_min: int = 20
    spans: Spans = Spans()
    settings: StandSettings = field(default_factory=StandSettings)
    mix: Mix = field(default_factory=Mix)
    figure: Figure | None = None
    long: Spans | None = None

    def at_full_length(self) -> "Experiment":
        """Give the same with its long spans and the times that the product ships with; unchanged without such."""
        if self.long is None:
            return self
        return replace(self, spans=self.long, settings=self.settings.as_shipped())

    def without_guard(self) -> "Experiment":
        """Give the same with gateways that go without the guard of its figure."""
        assert self.figure is not None, self.name
        return replace(self, settings=replace(self.settings, unguarded=self.figure.guard))

    def at_rate(self, rate_per_s: float) -> "Experiment":
        """Give the same at another rate of calls."""
        return replace(self, mix=replace(self.mix, rate_per_s=rate_per_s))
