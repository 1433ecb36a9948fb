"""The hunt for planted bugs: how many seeds it takes until a checker complains."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.outcome import Outcome
from sim.planted.bug import Bug, planted


@dataclass(frozen=True, slots=True)
class Catch:
    """A bug that was found: after how many seeds, and by which code."""

    bug: str
    seeds: int
    code: str
    outcome: Outcome


def hunt(bug: Bug, run: Callable[[str, int], Outcome], *, start: int = 1) -> Catch | None:
    """Run worlds with the bug until one is complained about; None where the budget was not enough.

    A world that breaks (a deadlock, an error nobody handles) counts as found too, by the code `broken`.
    """
    with planted(bug):
        for count, seed in enumerate(range(start, start + bug.seeds_max), 1):
            outcome = run(bug.scenario, seed)
            if not outcome.ok:
                code = outcome.violations[0].partition(" ")[0] if outcome.violations else "broken"
                return Catch(bug.id, count, code, outcome)
    return None


def median_seeds(catches: Sequence[Catch]) -> float:
    """Give the median number of seeds that it took."""
    return statistics.median(one.seeds for one in catches)
