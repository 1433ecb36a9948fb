"""The bars of a run: a line for each, what was measured, and whether it was met.

A run that was not felt, or at which a judge objects, meets none of its bars. Not here: what the bars are.
"""

from collections.abc import Iterator, Sequence

from chaos.experiments.conduct import Result
from chaos.report.rows import row_of
from chaos.report.table import columns

HEAD = ("experiment", "bar", "measured", "met")


def bar_lines(results: Sequence[Result]) -> Iterator[str]:
    """Give the lines of the table, and under it what else was found."""
    yield from columns([HEAD, *(cells for result in results for cells in _cells(result))])
    for result in results:
        yield from (f"  ! {result.experiment.name}: {complaint}" for complaint in row_of(result).complaints)


def bars_as_json(results: Sequence[Result]) -> list[dict[str, object]]:
    """Give them as plain members."""
    return [
        dict(zip(HEAD, cells, strict=True)) | {"met": cells[-1] == "yes"}
        for result in results
        for cells in _cells(result)
    ]


def _cells(result: Result) -> Iterator[tuple[str, ...]]:
    counts = result.was_felt and not result.violations
    for one in result.expected:
        bar, _, measured = one.text.partition(": ")
        yield result.experiment.name, bar, measured, "yes" if counts and one.holds else "NO"
