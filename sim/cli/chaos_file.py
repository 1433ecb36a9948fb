"""Reads what `python -m chaos run --json FILE` wrote: which experiments there were, and what each has shown.

An id counts for a row only where it stands in `shown` of a run that passed; then its fault was felt too. Not here:
what a row holds besides (`chaos/report/rows.py`).
"""

import json
from collections.abc import Iterable
from pathlib import Path

from sim.cli.inputs import BadInput
from sim.registry.coverage import ChaosRan, UnknownId, check_ids

FILE_BYTES_MAX = 16 * 1024 * 1024
"""A row is some 500 bytes: what is larger is another file."""


def chaos_runs(files: Iterable[Path]) -> list[ChaosRan]:
    """Read all files, in their order.

    Raises:
        BadInput: one cannot be read, is none of ours, or speaks of an id that no table has.
    """
    return [run for file in files for run in _runs_of(file)]


def _runs_of(file: Path) -> list[ChaosRan]:
    try:
        if file.stat().st_size > FILE_BYTES_MAX:
            raise BadInput(f"{file} is larger than {FILE_BYTES_MAX} bytes: it holds no rows of chaos")
        rows = json.loads(file.read_bytes())
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is no JSON: `python -m chaos run --json {file}` writes it") from error
    if not isinstance(rows, list):
        raise BadInput(f"{file} holds no list of rows: `python -m chaos run --json {file}` writes one")
    runs = [_run_of(file, number, row) for number, row in enumerate(rows, 1)]
    try:
        check_ids(runs)
    except UnknownId as error:
        raise BadInput(f"{file}: {error}") from error
    return runs


def _run_of(file: Path, number: int, row: object) -> ChaosRan:
    match row:
        case {"experiment": str(name), "shown": list(shown), "passed": bool(passed)} if all(
            isinstance(each, str) for each in shown
        ):
            return ChaosRan(name, passed, shown, shown)
    raise BadInput(f"{file}: row {number} lacks `experiment`, `shown` or `passed`, or has another kind of value")
