"""What commands write: results to standard output, what is said about them to standard error.

Text out of worlds is written without markup and without control characters: fakes and faults made it up.
"""

import json
import sys
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 200
"""Columns of a table that no terminal bounds: nothing is cut for who reads it with a program."""


def put(text: str, style: str = "") -> None:
    """Write a line of a result."""
    console(stderr=False).print(clean(text, style), soft_wrap=True)


def say(text: str, style: str = "") -> None:
    """Write a line about what happens."""
    console(stderr=True).print(clean(text, style), soft_wrap=True)


def put_json(value: object) -> None:
    """Write a result as JSON, indented."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def put_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(clean(cell) for cell in row))
    console(stderr=False).print(table)


def clean(text: str, style: str = "") -> Text:
    """Make text safe to show: each control character but the line end becomes a question mark."""
    return Text("".join(each if each.isprintable() or each == "\n" else "?" for each in text), style)


def console(*, stderr: bool) -> Console:
    """Give a console, made anew each time: the streams are those of the moment."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, highlight=False, width=None if stream.isatty() else PIPED_WIDTH)
