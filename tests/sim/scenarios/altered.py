"""Journals in which something is not as it was, for tests that what looks for a behaviour is not blind."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from sim.journal.fact import Fact, Value
from sim.journal.journal import Journal

Change = Callable[[Fact], Fact | None]


def altered(journal: Journal, change: Change) -> Journal:
    """Copy a journal with every fact as `change` has it; None leaves it out."""
    copy = Journal(lambda: 0.0)
    copy.facts.extend(changed for fact in journal.facts if (changed := change(fact)) is not None)
    return copy


def without(kind: str, **members: Value) -> Change:
    """Leave out the facts of this kind with these members."""
    return lambda fact: None if _is(fact, kind, members) else fact


def saying(kind: str, having: Mapping[str, Value], **members: Value) -> Change:
    """Let the facts of this kind that have these members say something else."""

    def change(fact: Fact) -> Fact:
        if not _is(fact, kind, having):
            return fact
        return replace(fact, members={**fact.members, **members})

    return change


def later(kind: str, seconds: float, **members: Value) -> Change:
    """Let the facts of this kind with these members come later; the order of the journal stays."""
    return lambda fact: replace(fact, at=fact.at + seconds) if _is(fact, kind, members) else fact


def _is(fact: Fact, kind: str, members: Mapping[str, Value]) -> bool:
    return fact.kind == kind and members.items() <= fact.members.items()
