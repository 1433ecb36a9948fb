"""Many worlds, each of another seed, in several processes: what they met, what failed, and where the time went.

Worlds are numbered; the n-th has the n-th seed after the first and the next scenario in turn, so a start repeats
them in the same order. Not here: what a process is (`interpreter.py`), how results are shown (`sim/cli`).
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sim.interpreter import Order
from sim.outcome import Outcome
from sim.outcome_row import Told, first_code
from sim.seed import SEED_MAX

SLOWEST_MAX = 5
"""How many of the slowest worlds a summary names."""


class Runs(Protocol):
    """Whatever runs one world at a time."""

    async def run(self, order: Order) -> Told:
        """Run a world; never raises for what happens in it."""
        ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a swarm is over: None is no bound. `failures_max` worlds that fail are enough."""

    seconds: float | None = None
    worlds: int | None = None
    failures_max: int = 1


@dataclass(slots=True)
class Tally:
    """What the worlds of a swarm came to so far. `stopped` says why no more are begun."""

    worlds: int = 0
    simulated_s: float = 0.0
    stopped: str = ""
    failures: list[Outcome] = field(default_factory=list)
    slowest: list[Outcome] = field(default_factory=list)
    scenarios: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    active: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, told: Told) -> None:
        """Count a world."""
        outcome = told.outcome
        self.worlds += 1
        self.simulated_s += outcome.simulated_s
        self.scenarios[outcome.scenario] += 1
        self.marks.update(outcome.marks)
        self.active.update(outcome.active)
        self.seen.update(outcome.seen)
        self.faults.update(told.faults)
        if not outcome.ok:
            self.failures.append(outcome)
        slow = sorted([*self.slowest, outcome], key=lambda each: each.wall_s, reverse=True)
        self.slowest = slow[:SLOWEST_MAX]

    def by_code(self) -> Mapping[str, list[Outcome]]:
        """Give the failures by what they failed of, in each the world with the least in it first."""
        found: dict[str, list[Outcome]] = {}
        for outcome in sorted(self.failures, key=_size):
            found.setdefault(first_code(outcome), []).append(outcome)
        return found


def orders(start: int, scenarios: Sequence[str]) -> Iterator[Order]:
    """Give world after world, without end."""
    number = 0
    while True:
        yield Order(scenarios[number % len(scenarios)], (start + number) % (SEED_MAX + 1))
        number += 1


async def swarm(
    worlds: Iterator[Order], processes: Sequence[Runs], bounds: Bounds, tally: Tally, heard: Callable[[], None]
) -> None:
    """Run worlds until a bound is reached; those under way are waited for. `heard` is told of each that ended."""
    run = _Run(worlds, bounds, tally, heard)
    async with asyncio.TaskGroup() as group:
        for process in processes:
            group.create_task(run.keep_busy(process))


class _Run:
    """One swarm under way."""

    def __init__(self, worlds: Iterator[Order], bounds: Bounds, tally: Tally, heard: Callable[[], None]) -> None:
        self._worlds = worlds
        self._bounds = bounds
        self._tally = tally
        self._heard = heard
        self._begun = 0
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()

    async def keep_busy(self, process: Runs) -> None:
        """Run one world after the other in one process."""
        while not self._over():
            self._begun += 1
            self._tally.add(await process.run(next(self._worlds)))
            self._heard()

    def _over(self) -> bool:
        tally, bounds = self._tally, self._bounds
        if len(tally.failures) >= bounds.failures_max:
            tally.stopped = "failures"
        elif bounds.worlds is not None and self._begun >= bounds.worlds:
            tally.stopped = tally.stopped or "worlds"
        elif bounds.seconds is not None and self._loop.time() - self._began_at >= bounds.seconds:
            tally.stopped = tally.stopped or "time"
        return bool(tally.stopped)


def _size(outcome: Outcome) -> tuple[int, float]:
    return sum(outcome.counts.values()), outcome.simulated_s
