"""The picture of a run: for each experiment what was added to answers, and how long calls failed afterwards."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from chaos.report.rows import Row

HEIGHT_IN = 0.35
"""Of one experiment."""


def draw(path: Path, rows: Sequence[Row]) -> None:
    """Write a PNG: the first experiment on top."""
    names = [row.experiment for row in rows]
    figure = Figure(figsize=(11.0, 1.5 + HEIGHT_IN * len(rows)), layout="constrained")
    added, recovered = figure.subplots(1, 2, sharey=True)
    added.barh(names, [1000 * row.worst_added_s for row in rows], color="tab:gray", label="worst")
    added.barh(names, [1000 * row.added_p99_s for row in rows], color="tab:blue", label="p99")
    added.set_xlabel("added to answers while it was broken (ms)")
    added.legend()
    recovered.barh(names, [row.recovered_s for row in rows], color="tab:orange")
    recovered.set_xlabel("until no call failed any more, after it was healed (s)")
    added.invert_yaxis()
    figure.savefig(path, dpi=120)
