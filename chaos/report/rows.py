"""One row for each experiment: what it cost its clients, and whether it proves what it is for.

Not here: how rows are written (`table.py`, `picture.py`).
"""

from dataclasses import asdict, dataclass

from chaos.experiments.conduct import Result
from chaos.experiments.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Row:
    """Times are seconds. `failed` counts calls of known keys that were sent during the fault.

    `missed_first`: it was carried out twice, and this is what the first time missed.
    """

    experiment: str
    title: str
    ids: tuple[str, ...]
    shown: tuple[str, ...] = ()
    passed: bool = False
    requests: int = 0
    felt: int = 0
    failed: int = 0
    added_p99_s: float = 0.0
    worst_added_s: float = 0.0
    recovered_s: float = 0.0
    complaints: tuple[str, ...] = ()
    missed_first: tuple[str, ...] = ()


def row_of(result: Result) -> Row:
    """Put an experiment's result into a row."""
    during = result.broken.during
    complaints = [f"{one.id}: {one.text}" for one in result.expected if not one.holds]
    if not result.was_felt:
        complaints.insert(0, f"felt by {result.felt} calls, {result.experiment.felt_min} must feel it")
    complaints += [str(violation) for violation in result.violations]
    if not result.passed and not complaints:
        complaints = [f"nothing was expected of {' '.join(set(result.experiment.ids) - set(result.shown))}"]
    return Row(
        experiment=result.experiment.name,
        title=result.experiment.title,
        ids=result.experiment.ids,
        shown=result.shown,
        passed=result.passed,
        requests=during.calls,
        felt=result.felt,
        failed=during.failed,
        added_p99_s=round(during.added_share_s(0.99), 4),
        worst_added_s=round(during.worst_added_s, 4),
        recovered_s=round(result.broken.recovered_s, 2),
        complaints=tuple(complaints),
    )


def broken_stand(experiment: Experiment, why: str) -> Row:
    """Put into a row that nothing was found, since the stand did not start or broke by itself."""
    complaint = f"the stand broke: {why}"
    return Row(experiment.name, experiment.title, experiment.ids, complaints=(complaint,))


def as_json(rows: list[Row]) -> list[dict[str, object]]:
    """Give rows as plain members."""
    return [asdict(row) for row in rows]
