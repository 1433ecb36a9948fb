"""What a run came to, for people and as an exit code."""

from sim.cli.screen import put
from sim.interpreter import NO_HASH
from sim.outcome import Outcome

OK, VIOLATED, BROKEN = 0, 1, 3

INTERRUPTED = 130
"""Exit code of Ctrl-C, as of shells."""


def code_of(outcome: Outcome) -> int:
    """Give the exit code of a run."""
    if outcome.broken:
        return BROKEN
    return VIOLATED if outcome.violations else OK


def put_outcome(outcome: Outcome, commit: str) -> None:
    """Write a short summary, and the one line that replays a run that is not sound; of a hung one only that."""
    if outcome.hash != NO_HASH:
        _put_summary(outcome)
    if outcome.ok:
        put("ok", "green")
        return
    put_complaints(outcome)
    put(outcome.line(commit))


def put_complaints(outcome: Outcome) -> None:
    """Write what is wrong, each on its line."""
    for violation in outcome.violations:
        put(f"violated: {violation}", "red")
    if outcome.broken:
        put(f"the world cannot be judged: {outcome.broken}", "red")


def _put_summary(outcome: Outcome) -> None:
    speed = outcome.simulated_s / outcome.wall_s if outcome.wall_s else 0.0
    put(
        f"{outcome.scenario} seed {outcome.seed}: {outcome.calls} calls, {outcome.simulated_s:.0f} s simulated "
        f"in {outcome.wall_s:.2f} s ({speed:.0f} to 1), hash {outcome.hash}"
    )
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(outcome.counts.items()))
    put(f"  trace: {counts or 'nothing'}")
    put(f"  marks: {', '.join(outcome.marks) or 'none'}")
    put(f"  faults of the matrix: {' '.join(outcome.active) or 'none'}")
    put(f"  behaviour shown: {' '.join(outcome.seen) or 'none'}")
