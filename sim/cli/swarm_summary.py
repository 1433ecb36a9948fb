"""What a swarm came to, for people and for programs."""

from collections.abc import Iterable, Mapping

from sim.cli.screen import put, put_table
from sim.cli.verdict import put_complaints
from sim.faults.plan import KINDS
from sim.journal.marks import SOMETIMES
from sim.outcome import Outcome
from sim.outcome_row import first_code, row_of
from sim.swarm import Tally

REASONS = {
    "failures": "stopped: enough have failed",
    "time": "the time is over",
    "worlds": "all worlds were run",
    "interrupted": "interrupted",
}


def put_summary(tally: Tally, wall_s: float, commit: str, *, of_all: bool) -> None:
    """Write the failures with the lines that replay them, what was met, and where the time went.

    `of_all`: the explorers ran in their turn, in which everything there is can be met; what was not is named.
    """
    share = ", ".join(f"{count} {name}" for name, count in sorted(tally.scenarios.items()))
    put(
        f"{tally.worlds} worlds ({share or 'none'}) in {wall_s:.1f} s, {tally.worlds / wall_s:.1f}/s; "
        f"{tally.simulated_s:.0f} s simulated, {tally.simulated_s / wall_s:.0f} to 1; {REASONS[tally.stopped]}"
    )
    _put_failures(tally, commit)
    put(f"faults met, in all: {_counted(tally.faults)}")
    if of_all:
        put(f"never met: {_listed(set(KINDS) - tally.faults.keys())}")
    put(f"ids of the failure matrix met, in worlds: {_counted(tally.active)}; shown: {_counted(tally.seen)}")
    put(f"marks hit, in worlds: {_counted(tally.marks)}")
    if of_all:
        put(f"marks never hit: {_listed(marks_never(tally))}")
    put_table(
        ("slowest", "scenario", "seed", "simulated"),
        (
            (f"{each.wall_s:.2f} s", each.scenario, str(each.seed), f"{each.simulated_s:.0f} s")
            for each in tally.slowest
        ),
    )


def summary_row(tally: Tally, start: int, wall_s: float, commit: str) -> dict[str, object]:
    """Give the same as plain members."""
    return {
        "commit": commit,
        "start": start,
        "stopped": tally.stopped,
        "worlds": tally.worlds,
        "scenarios": dict(tally.scenarios),
        "wall_s": round(wall_s, 3),
        "simulated_s": round(tally.simulated_s, 3),
        "worlds_per_s": round(tally.worlds / wall_s, 3),
        "simulated_per_wall": round(tally.simulated_s / wall_s, 1),
        "failures": [_failure(outcome, commit) for outcome in tally.failures],
        "marks": dict(tally.marks),
        "marks_never": marks_never(tally),
        "active": dict(tally.active),
        "seen": dict(tally.seen),
        "faults": dict(tally.faults),
        "slowest": [
            {"scenario": each.scenario, "seed": each.seed, "wall_s": round(each.wall_s, 3)}
            for each in tally.slowest
        ],
    }


def marks_never(tally: Tally) -> list[str]:
    """Give the marks that no world hit."""
    return [name for name in SOMETIMES if name not in tally.marks]


def _put_failures(tally: Tally, commit: str) -> None:
    if not tally.failures:
        put("no failure", "green")
    for code, failures in tally.by_code().items():
        worlds = "1 world" if len(failures) == 1 else f"{len(failures)} worlds; the one with the least in it"
        put(f"{code}: {worlds}:", "bold")
        put_complaints(failures[0])
        for failure in failures:
            put(failure.line(commit))


def _failure(outcome: Outcome, commit: str) -> dict[str, object]:
    return {**row_of(outcome, commit), "code": first_code(outcome)}


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
