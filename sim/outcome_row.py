"""An outcome as plain members: what `--json` prints, and what one process of ours tells another."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sim.edit import read_edit
from sim.journal.fact import Fact
from sim.outcome import Outcome

BROKEN_CODE = re.compile(r"(?:the world broke: )?([^:(\n]+(?:: \w+(?=[:(]))?)")
"""What broke a world, without what differs from run to run: "Deadlock", "KeyError"."""

HUNG = "hung"
"""How the reason begins of a world that did not end within its time; it is its code, too."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a process tells of a world: its outcome, and how often each kind of fault began in it."""

    outcome: Outcome
    faults: Mapping[str, int] = field(default_factory=dict)


def row_of(outcome: Outcome, commit: str) -> dict[str, object]:
    """Write an outcome as members, the line that replays it among them."""
    return {
        "scenario": outcome.scenario,
        "seed": outcome.seed,
        "plan": outcome.edit.word(),
        "hash": outcome.hash,
        "ok": outcome.ok,
        "violations": list(outcome.violations),
        "broken": outcome.broken,
        "simulated_s": round(outcome.simulated_s, 6),
        "wall_s": round(outcome.wall_s, 6),
        "calls": outcome.calls,
        "counts": dict(outcome.counts),
        "marks": list(outcome.marks),
        "active": list(outcome.active),
        "seen": list(outcome.seen),
        "line": outcome.line(commit),
    }


def faults_met(facts: Iterable[Fact]) -> dict[str, int]:
    """Count the faults that began, by kind."""
    return dict(Counter(fact.text("fault") for fact in facts if fact.kind == "fault" and fact.has("on")))


def write_told(told: Told, commit: str) -> str:
    """Write what a process tells as one line of JSON."""
    return json.dumps({**row_of(told.outcome, commit), "faults": dict(told.faults)})


def read_told(text: str | bytes) -> Told:
    """Read it back."""
    row = json.loads(text)
    outcome = Outcome(
        scenario=row["scenario"],
        seed=row["seed"],
        edit=read_edit(row["plan"]),
        hash=row["hash"],
        violations=tuple(row["violations"]),
        broken=row["broken"],
        simulated_s=row["simulated_s"],
        wall_s=row["wall_s"],
        calls=row["calls"],
        counts=row["counts"],
        marks=tuple(row["marks"]),
        active=tuple(row["active"]),
        seen=tuple(row["seen"]),
    )
    return Told(outcome, row["faults"])


def first_code(outcome: Outcome) -> str:
    """Give what a run failed by: the code of its first violation, `hung`, `broken (why)`; empty if it is sound."""
    if outcome.broken:
        found = BROKEN_CODE.match(outcome.broken)
        why = found[1] if found else outcome.broken.splitlines()[0]
        return why if why == HUNG else f"broken ({why})"
    if outcome.violations:
        return outcome.violations[0].split()[0].rstrip(":")
    return ""
