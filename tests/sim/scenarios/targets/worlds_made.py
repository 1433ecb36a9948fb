"""Runs a scenario of this folder, as it is or with something of its draft changed."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from sim.draft import Draft
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.run import Run, run
from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.all_of_them import TARGET_SCENARIOS
from sim.seed import Seed

BY_ID = {scenario.id: scenario for scenario in TARGET_SCENARIOS}

Change = Callable[[Draft], Draft]


@cache
def ran(name: str, seed: int) -> Run:
    return run(BY_ID[name], seed)


def shown(name: str, journal: Journal) -> set[str]:
    """What a scenario sees in a journal."""
    return set(BY_ID[name].seen(journal))


def changed(name: str, seed: int, change: Change) -> Journal:
    """The journal of the same world with something changed."""
    scenario: Scenario = BY_ID[name]
    same = scenario.draft(Seed(seed).child(scenario.id))
    return run(replace(scenario, draft=lambda _: change(same)), seed).journal


def without_help(draft: Draft) -> Draft:
    """Only the victim is there, and nobody else may be asked."""
    return replace(draft, attempts_max=1)


def doctored(journal: Journal, kind: str, **members: str | float | bool | None) -> Journal:
    """The same journal with some members of all facts of one kind replaced."""
    made = Journal(lambda: 0.0)
    made.facts = [
        replace(fact, members={**fact.members, **members}) if fact.kind == kind else fact for fact in journal.facts
    ]
    return made


def longer(journal: Journal, kind: str, member: str, by_s: float) -> Journal:
    """The same journal with a duration of all facts of one kind longer."""
    made = Journal(lambda: 0.0)
    made.facts = [
        replace(fact, members={**fact.members, member: fact.number(member) + by_s}) if fact.kind == kind else fact
        for fact in journal.facts
    ]
    return made


def with_fact(journal: Journal, fact: Fact) -> Journal:
    """The same journal with one fact more, at its time."""
    made = Journal(lambda: 0.0)
    made.facts = sorted([*journal.facts, fact], key=lambda one: one.at)
    return made
