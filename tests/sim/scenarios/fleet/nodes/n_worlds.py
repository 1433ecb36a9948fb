"""Worlds for the cases N01 to N30: how they are made and played, and what is counted in them."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from sim.draft import CallDraft, Draft, Level, NodeDraft, VendorDraft
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.fleet.nodes.reading import HEALTHY, asked_by_calls, health, nodes_of
from sim.scenarios.scenario import Scenario, nothing_special

SEEDS = range(3)
CLOUD = (VendorDraft("cloud-a"),)

seeds = pytest.mark.parametrize("seed", SEEDS)


def nodes(count: int, **members: object) -> tuple[NodeDraft, ...]:
    return tuple(NodeDraft(f"node-{at}", **members) for at in range(count))  # type: ignore[arg-type]  # by name


def calls(count: int, every_s: float, **members: object) -> tuple[CallDraft, ...]:
    return tuple(CallDraft(at_s=round(at * every_s, 3), **members) for at in range(count))  # type: ignore[arg-type]


def played(draft: Draft, seed: int, level: Level = Level.PORTS) -> Journal:
    """Run a world of this draft, which breaks no promise."""
    last_s = max(call.at_s for call in draft.calls)
    drawn = replace(draft, level=level, vendors=CLOUD, runs_s=max(draft.runs_s, last_s + 5.0))
    done = run(Scenario("n-case", "a case", (), lambda _: drawn, nothing_special), seed)
    assert done.outcome.ok, done.outcome
    return done.journal


def asked_of(journal: Journal, node: str) -> list[Exchange]:
    """Give what a machine was asked for the calls of the draft."""
    return [one for one in asked_by_calls(journal, node) if not one.call.startswith("1000")]


def asked(journal: Journal) -> Counter[str]:
    """Count what each machine was asked for the calls of the draft."""
    return Counter({node: len(asked_of(journal, node)) for node in nodes_of(journal)})


def at_once(exchanges: list[Exchange]) -> int:
    """Give how many were under way at the same time, at most."""
    return max(sum(other.asked.at <= one.asked.at < other.told_at for other in exchanges) for one in exchanges)


def worst(journal: Journal, node: str) -> float:
    """Give the worst that any gateway took a machine for."""
    return max(value for turns in health(journal, node).values() for _, value in turns)


def healings(journal: Journal, node: str) -> list[float]:
    """Give when a gateway that took a machine for ill took it for sound again."""
    return [
        after.start
        for turns in health(journal, node).values()
        for (_, was), (after, now) in pairwise(turns)
        if now == HEALTHY < was
    ]
