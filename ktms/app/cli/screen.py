"""What commands write: data to standard output, everything said about it to standard error.

An output that takes no more (a full disk) ends the command with a line that says so. Text from elsewhere (names,
messages of a server) is written without markup and without control characters, so it can neither colour nor move
the cursor.
"""

import io
import json
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ktms.app.cli.failed import CommandFailed

SIGNALLED = 128
"""What a shell adds to the number of a signal that ended a program."""

PIPED_WIDTH = 200
"""Columns of a table that no terminal bounds: nothing is cut for who reads it with a program."""


def say(text: str, style: str = "") -> None:
    """Write a line about what happens to standard error."""
    _console(stderr=True).print(clean(text, style), soft_wrap=True)


def put(text: str, style: str = "") -> None:
    """Write a line of data to standard output."""
    with _writing():
        _console(stderr=False).print(clean(text, style), soft_wrap=True)


def put_raw(text: str) -> None:
    """Write data byte for byte, for other programs: no styles, no wrapping."""
    with _writing():
        click.echo(text, nl=False)


def put_json(value: object) -> None:
    """Write data as JSON, indented."""
    put_raw(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def put_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to standard output."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(clean(cell) for cell in row))
    put_view(table)


def put_view(view: RenderableType) -> None:
    """Write something made of tables and texts, which were cleaned by who made it, to standard output.

    A table fills its columns with blanks; into a pipe they are left out at the ends of lines.
    """
    console = _console(stderr=False)
    if console.is_terminal:
        with _writing():
            console.print(view)
        return
    with console.capture() as captured:
        console.print(view)
    for line in captured.get().splitlines():
        put_raw(line.rstrip() + "\n")


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def has_blocks() -> bool:
    """Whether standard output can carry block characters."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


@contextmanager
def watched() -> Iterator[Callable[[RenderableType], None]]:
    """Take over the terminal while the block runs; gives the function that shows the next view on it.

    The terminal is given back on SIGTERM too: nobody else could show its cursor again.
    """
    before = signal.signal(signal.SIGTERM, _end)
    try:
        with Live(console=_console(stderr=False), screen=True, auto_refresh=False) as live:
            yield lambda view: live.update(view, refresh=True)
    finally:
        signal.signal(signal.SIGTERM, before)


def clean(text: str, style: str = "") -> Text:
    """Make text safe to show: each control character but the line end becomes a question mark."""
    return Text("".join(each if each.isprintable() or each == "\n" else "?" for each in text), style)


@contextmanager
def _writing() -> Iterator[None]:
    """Say in a line that standard output takes no more; a reader that has left is click's to end."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stdout = io.StringIO()  # what is left in its buffer would fail once more as the process ends
        raise CommandFailed(f"standard output cannot be written to: {error.strerror or error}") from error


def _end(number: int, _frame: FrameType | None) -> None:
    sys.exit(SIGNALLED + number)


def _console(*, stderr: bool) -> Console:
    """Made anew each time: the streams are those of the moment."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PIPED_WIDTH)
