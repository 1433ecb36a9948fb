"""What a scenario is: a draft drawn from a seed, and the behaviours that its journal must show."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sim.draft import Draft
from sim.journal.journal import Journal
from sim.seed import Seed


def nothing_special(journal: Journal) -> Iterator[str]:
    """Show nothing: for explorers."""
    del journal
    yield from ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario.

    `proves` are the ids whose behaviour every run must show: `seen` gives those that a journal shows, and each
    must have been active as a fault too. A scenario that proves nothing is an explorer: only checkers judge it.
    `active` gives ids of the research list (S..) whose script really struck: no single fault stands for those.
    """

    id: str
    title: str
    proves: tuple[str, ...]
    draft: Callable[[Seed], Draft]
    seen: Callable[[Journal], Iterator[str]]
    active: Callable[[Journal], Iterator[str]] = nothing_special
