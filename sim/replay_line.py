"""The one line that replays a run, read back. Not here: how it is written (`outcome.py`)."""

import re
from dataclasses import dataclass

from sim.edit import Edit, read_edit
from sim.seed import read_seed

PARTS = {
    "KTMS_SIM": "KTMS_SIM=<commit>",
    "seed": "seed=<n>",
    "scenario": "scenario=<id>",
    "plan": "plan=<word>",
    "hash": "hash=<hex>",
}
"""The parts of a line in their order, each with what it looks like."""

FORM = re.compile(" ".join(rf"{name}=(\S+)" for name in PARTS))

HASH = re.compile(r"-|[0-9a-f]{16}")
"""A dash is the hash of a run that never came to its end."""


class LineInvalid(ValueError):
    """The text holds no line that replays a run; the message says what is wrong, and what a line looks like."""


@dataclass(frozen=True, slots=True)
class ReplayLine:
    """A run to repeat. `hash` is what it came to then, `-` when it never came to its end."""

    commit: str
    scenario: str
    seed: int
    edit: Edit
    hash: str


def read_line(text: str) -> ReplayLine:
    """Find the line in a text, such as a line of a log.

    Raises:
        LineInvalid: there is none, a part of it is missing, or its hash is none.
        SeedInvalid: its seed is none.
        PlanInvalid: its plan is garbled, or has faults this release does not know.
    """
    words = " ".join(text.split())
    found = FORM.search(words)
    if found is None:
        raise LineInvalid(f"{_lack(words)}: give all of {' '.join(PARTS.values())}")
    commit, seed, scenario, plan, told = found.groups()
    if HASH.fullmatch(told) is None:
        raise LineInvalid(f"{told!r} is no hash: copy the whole line; a hash is 16 hexadecimal digits, or -")
    return ReplayLine(commit, scenario, read_seed(seed), read_edit(plan), told)


def _lack(words: str) -> str:
    lacking = [form for name, form in PARTS.items() if re.search(rf"\b{name}=\S", words) is None]
    if 0 < len(lacking) < len(PARTS):
        return f"the replay line lacks {' and '.join(lacking)}"
    return "this is no replay line"
