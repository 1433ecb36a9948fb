"""How fast worlds are: four figures, each against its bar and against a yardstick of this machine.

The yardstick is a fixed loop of plain Python, timed in the same minute: a figure of another machine, or of this
one when it is busy, is compared by what it would be where the yardstick runs at its reference speed. Best of a few
runs, since all that disturbs a run makes it slower. Not here: the gateway's own speed (`make bench`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from sim.draft import CallDraft, Draft, Level, NodeDraft, VendorDraft
from sim.outcome import Outcome
from sim.run import run
from sim.scenarios.explore import EXPLORERS
from sim.scenarios.scenario import Scenario, nothing_special
from sim.seed import Seed

YARDSTICK_STEPS = 1_000_000

YARDSTICK_REFERENCE = 7_000_000.0
"""Steps per CPU second: the best of fifteen, on two shared cores that were not idle. An idle one may be faster."""

SPARSE_S = 20_000.0
SPARSE_CALLS = 200
PORT_CALLS = 1_000
WIRE_CALLS = 150
EXPLORED = 12
"""Sizes: each run takes about a second, so that starting it weighs little."""

TOKENS = 50


class BenchBroken(Exception):
    """A world of the benchmark is not sound: its speed says nothing."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `bar` 0: none was set. `adjusted` is the figure at the yardstick's reference speed."""

    name: str
    unit: str
    value: float
    bar: float
    adjusted: float

    @property
    def reached(self) -> bool:
        """Whether it is as high as it must be."""
        return self.adjusted >= self.bar


@dataclass(frozen=True, slots=True)
class Report:
    """All figures, and the speed of the yardstick in steps per CPU second."""

    yardstick: float
    figures: tuple[Figure, ...]


def measure(rounds: int, heard: Callable[[str], None] = lambda _: None) -> Report:
    """Measure everything, best of so many rounds.

    Raises:
        BenchBroken: a world is not sound.
    """
    measures = (
        ("sparse world, three replicas, ports", "simulated s per wall s", 1_000.0, sparse),
        ("whole answers, ports", "requests per CPU s", 1_000.0, port_requests),
        (f"streams of {TOKENS} tokens over two hops, HTTP", "requests per CPU s", 80.0, wire_requests),
        *(
            (
                f"random worlds, {scenario.id}",
                "worlds per CPU s",
                0.0,
                lambda scenario=scenario: explored(scenario),
            )
            for scenario in EXPLORERS
        ),
    )
    best = [0.0] * len(measures)
    ruler = 0.0
    for number in range(rounds):
        heard(f"round {number + 1} of {rounds}")
        ruler = max(ruler, yardstick())
        for at, (_, _, _, value_of) in enumerate(measures):
            best[at] = max(best[at], value_of())
    figures = (
        Figure(name, unit, value, bar, value * YARDSTICK_REFERENCE / ruler)
        for (name, unit, bar, _), value in zip(measures, best, strict=True)
    )
    return Report(ruler, tuple(figures))


def yardstick() -> float:
    """Give steps per CPU second of a fixed loop: calls, dicts, lists, numbers, what interpreters do all day."""
    seen: dict[int, list[int]] = {}
    began = time.process_time()
    for number in range(YARDSTICK_STEPS):
        seen.setdefault(_step(number), []).append(number)
    return YARDSTICK_STEPS / (time.process_time() - began)


def _step(number: int) -> int:
    return (number * 2_654_435_761) & 1023


def sparse() -> float:
    """Give simulated seconds per wall second of a world in which little happens but production's own timers."""
    every_s = SPARSE_S / SPARSE_CALLS
    calls = tuple(CallDraft(number * every_s, gateway=number % 3) for number in range(SPARSE_CALLS))
    outcome, _ = _timed(_scenario(Draft(Level.PORTS, replicas=3, calls=calls, runs_s=SPARSE_S)))
    return outcome.simulated_s / outcome.wall_s


def port_requests() -> float:
    """Give whole answers per CPU second without HTTP."""
    return _requests(Level.PORTS, PORT_CALLS, streamed=False)


def wire_requests() -> float:
    """Give streams per CPU second: client, gateway and vendor over HTTP, one piece per token."""
    return _requests(Level.WIRE, WIRE_CALLS, streamed=True)


def explored(scenario: Scenario) -> float:
    """Give random worlds per CPU second; whether they are sound is the swarm's matter."""
    began = time.process_time()
    for seed in range(EXPLORED):
        run(scenario, seed)
    return EXPLORED / (time.process_time() - began)


def _requests(level: Level, count: int, *, streamed: bool) -> float:
    calls = tuple(CallDraft(number * 0.2, streamed=streamed, tokens=TOKENS) for number in range(count))
    draft = Draft(
        level,
        vendors=(VendorDraft("cloud-a"),),
        nodes=(NodeDraft("node-0", slots=16, window=None),),  # nobody waits in line: that is another matter
        calls=calls,
        runs_s=count * 0.2,
    )
    _, cpu_s = _timed(_scenario(draft))
    return count / cpu_s


def _scenario(draft: Draft) -> Scenario:
    def drawn(seed: Seed) -> Draft:
        del seed
        return draft

    return Scenario("bench", "a world to be timed", (), drawn, nothing_special)


def _timed(scenario: Scenario) -> tuple[Outcome, float]:
    began = time.process_time()
    outcome = run(scenario, 1).outcome
    cpu_s = time.process_time() - began
    if not outcome.ok:
        raise BenchBroken(outcome.broken or "; ".join(outcome.violations))
    return outcome, cpu_s
