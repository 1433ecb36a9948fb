"""The table that a run prints: a line for each experiment, and what was missed under it."""

from collections.abc import Iterator, Sequence

from chaos.report.rows import Row

HEAD = ("experiment", "proves", "requests", "failed", "p99 added", "worst added", "recovered")


def lines_of(rows: Sequence[Row]) -> Iterator[str]:
    """Give the lines of the table."""
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEAD))]
    for at, line in enumerate(cells):
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        if at:
            yield from (f"  ! {complaint}" for complaint in rows[at - 1].complaints)


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
