"""The table that a run prints: a line for each experiment, and what was missed under it."""

from collections.abc import Iterator, Sequence

from chaos.report.rows import Row

HEAD = ("experiment", "proves", "requests", "failed", "p99 added", "worst added", "recovered")


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """Give the lines of the table."""
    head, *lines = columns([HEAD, *map(_cells, rows)])
    yield head
    for row, line in zip(rows, lines, strict=True):
        yield line
        yield from (f"  ! {complaint}" for complaint in row.complaints)
        yield from (f"  ~ the first time: {complaint}" for complaint in row.missed_first)
    yield from _last_words(rows)


def _last_words(rows: Sequence[Row]) -> Iterator[str]:
    """Say what failed once more below the table: whoever reads a log sees its end first, and maybe no more."""
    failed = [row for row in rows if not row.passed]
    yield f"{len(rows) - len(failed)} of {len(rows)} experiments prove their ids"
    for row in failed:
        first, *more = row.complaints
        yield f"FAILED {row.experiment}: {first}" + (f" (and {len(more)} more, above)" if more else "")


def columns(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    proves = " ".join(name if name in row.shown else f"({name})" for name in row.ids)
    return (
        row.experiment,
        proves,
        str(row.requests),
        str(row.failed),
        _ms(row.added_p99_s),
        _ms(row.worst_added_s),
        f"{row.recovered_s:.1f} s",
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"
