"""Where two runs of the same world part: the first record that differs, and which task wrote it.

The trace is compared first, then the journal: facts are made of what the trace has, unless a chance or a clock
reached a checker by another way. Not here: running the world twice (`sim/cli/diverge.py`).
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from sim.trace import Record

CONTEXT_RECORDS = 5
"""Equal records shown before the one that differs."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Two runs are alike up to record `number` (from 1), where one may have ended: None. `before` are alike."""

    number: int
    left: Record | None
    right: Record | None
    before: tuple[Record, ...]


def first_divergence(
    left: Iterable[Record], right: Iterable[Record], context: int = CONTEXT_RECORDS
) -> Divergence | None:
    """Find the first record whose text differs; None where there is none."""
    before: deque[Record] = deque(maxlen=context)
    for number, (one, other) in enumerate(zip_longest(left, right), 1):
        if one is None or other is None or one.text != other.text:
            return Divergence(number, one, other, tuple(before))
        before.append(one)
    return None


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write records as lines of JSON."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps([record.text, record.task]) + "\n" for record in records)


def read_records(path: Path) -> Iterator[Record]:
    """Read them back, one at a time: a long world has millions."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            text, task = json.loads(line)
            yield Record(text, task)


def read_facts(path: Path) -> Iterator[Record]:
    """Read the lines of a journal as records that no task is known of."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield Record(line.rstrip("\n"), "")
