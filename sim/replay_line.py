"""The one line that replays a run, read back. Not here: how it is written (`outcome.py`)."""

import re
from dataclasses import dataclass

from sim.edit import Edit, read_edit
from sim.seed import read_seed

FORM = re.compile(r"KTMS_SIM=(\S+) seed=(\S+) scenario=(\S+) plan=(\S+)(?: hash=(\S*))?")


class LineInvalid(ValueError):
    """The text holds no line that replays a run; the message says what one looks like."""


@dataclass(frozen=True, slots=True)
class ReplayLine:
    """A run to repeat. `hash` is what it came to then, empty when that is not known."""

    commit: str
    scenario: str
    seed: int
    edit: Edit
    hash: str


def read_line(text: str) -> ReplayLine:
    """Find the line in a text, such as a line of a log.

    Raises:
        LineInvalid: there is none.
        SeedInvalid: its seed is none.
        PlanInvalid: its plan is garbled, or has faults this release does not know.
    """
    found = FORM.search(" ".join(text.split()))
    if found is None:
        raise LineInvalid(
            "this is no replay line: give all of KTMS_SIM=<commit> seed=<n> scenario=<id> plan=<word> hash=<hex>"
        )
    commit, seed, scenario, plan, told = found.groups()
    return ReplayLine(commit, scenario, read_seed(seed), read_edit(plan), told or "")
