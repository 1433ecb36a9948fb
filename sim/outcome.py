"""What one run of a world came to, and the one line that replays it."""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.edit import Edit


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run.

    `violations` are lines that begin with the code of their checker; `broken` says why the world itself could not
    be judged (a deadlock, a checker that threw, an error nobody handled), empty otherwise. `active` and `seen` are
    ids of the failure matrix: met as a fault, and shown as behaviour. `wall_s` is no part of what repeats.
    """

    scenario: str
    seed: int
    edit: Edit
    hash: str
    violations: tuple[str, ...]
    broken: str
    simulated_s: float
    wall_s: float
    calls: int
    counts: Mapping[str, int]
    marks: tuple[str, ...]
    active: tuple[str, ...]
    seen: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is nothing to complain about."""
        return not self.violations and not self.broken

    def line(self, commit: str) -> str:
        """Give the line that replays this run."""
        return (
            f"KTMS_SIM={commit} seed={self.seed} scenario={self.scenario} plan={self.edit.word()} hash={self.hash}"
        )
