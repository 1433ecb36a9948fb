"""I11: the same seed and commit give the same hash: each execution of a world notes its own, and all are equal."""

from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.journal import Journal

CODE = "I11"
TITLE = "same seed, same hash"


def check(journal: Journal) -> Iterator[Violation]:
    """Find executions that went another way than the first one."""
    first: str | None = None
    for number, fact in enumerate(journal.of("hash"), 1):
        value = str(fact.members["value"])
        if first is None:
            first = value
        elif value != first:
            what = f"execution {number} has hash {value[:16]}, the first one {first[:16]}"
            yield Violation(CODE, fact.at, what)
