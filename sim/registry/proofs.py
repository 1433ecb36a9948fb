"""Which scenarios and experiments stand for an id, as they declare it, and what is missing.

Whether they show it is found out by running them (`coverage.py`). Experiments belong to the chaos suite, which the
simulator does not import: they stand here by name, and a test compares.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sim.registry.due import Due
from sim.registry.experiments import EXPERIMENTS
from sim.registry.failures import Failure


class Standing(Enum):
    """How far the proofs of an id are; the value says so to a reader."""

    TWICE = "by a scenario and by an experiment"
    ONCE = "by one of the two alone, since the other could show nothing"
    LATER = "in part or not at all: the part of the product that they are about is not built yet"
    MISSING = "in part or not at all, and should be"


@dataclass(frozen=True, slots=True)
class Proof:
    """What stands for one id."""

    failure: Failure
    scenarios: tuple[str, ...]
    experiments: tuple[str, ...]

    @property
    def standing(self) -> Standing:
        """How far its proofs are."""
        failure = self.failure
        lacks = {failure.scenario_due} if not self.scenarios else set()
        if failure.needs_chaos and not self.experiments:
            lacks.add(failure.chaos_due)
        if lacks <= {Due.NEVER}:
            return Standing.TWICE if failure.needs_chaos and self.scenarios else Standing.ONCE
        return Standing.LATER if lacks <= {Due.RELEASES} else Standing.MISSING


def proof_of(failure: Failure, scenarios: Mapping[str, Sequence[str]]) -> Proof:
    """Give what stands for it; `scenarios` are the ids that each proves, by its name."""
    return Proof(failure, _naming(failure.id, scenarios), _naming(failure.id, EXPERIMENTS))


def _naming(name: str, table: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(each for each, ids in table.items() if name in ids)
