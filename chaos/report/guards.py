"""Guards taken away: a line for each experiment, its figure with the guard and without.

Not here: the table of experiments (`table.py`).
"""

from collections.abc import Iterator, Sequence

from chaos.experiments.compare import Comparison
from chaos.report.table import columns

HEAD = ("experiment", "guard", "with it", "without", "figure")


def guard_lines(found: Sequence[Comparison]) -> Iterator[str]:
    """Give the lines of the table."""
    yield from columns([HEAD, *map(_cells, found)])


def guards_as_json(found: Sequence[Comparison]) -> list[dict[str, object]]:
    """Give comparisons as plain members."""
    return [
        dict(zip(HEAD, _cells(one), strict=True)) | {"experiment": one.experiment.name, "passed": one.passed}
        for one in found
    ]


def _cells(one: Comparison) -> tuple[str, ...]:
    figure = one.experiment.figure
    assert figure is not None
    name = one.experiment.name if one.passed else f"({one.experiment.name})"
    return name, figure.guard, f"{one.guarded:.3g}", f"{one.unguarded:.3g}", figure.says
