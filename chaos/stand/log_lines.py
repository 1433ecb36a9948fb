"""What gateways wrote into their logs, as facts: records of calls, events, and how breakers and nodes turned.

Lines have wall time in whole milliseconds, cut. So a breaker seems to open a little before the last of the
failures that opened it is booked; what follows from others is noted that much later. Not here: metrics.
"""

import json
import math
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path

from chaos.stand.run_journal import RunJournal

CUT_S = 0.002
"""More than is lost of a stamp, less than lies between an opening and anything that follows from it."""

STATES = {"closed": 0, "half_open": 1, "open": 2}
HEALTHS = {"healthy": 0, "suspect": 1, "down": 2, "barred": 3, "unknown": math.nan}

ILL = frozenset({1, 2, 3})
"""A node is asked no more from then on; one that is well may be asked in the very millisecond of the line."""

SHELF = frozenset({"/files", "/batches"})
"""Routes that are about files and batches themselves."""

Line = dict[str, object]


def note_log(journal: RunJournal, gateway: str, files: Iterable[Path], batch_lines: Collection[str] = ()) -> int:
    """Note all that a gateway has logged, and give the number of lines.

    `batch_lines` are the ids of requests that were lines of batches.
    """
    count = 0
    for line in (line for path in files for line in lines_of(path)):
        at = journal.of_wall(datetime.fromisoformat(str(line["time"])).timestamp())
        count += 1
        if line["event"] == "call":
            _note_record(journal, gateway, at, line, batch_lines)
        else:
            _note_event(journal, gateway, at, line)
    return count


def lines_of(path: Path) -> Iterator[Line]:
    """Read the lines of one file that are lines of ours; the last one of a killed process may be cut."""
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and {"time", "event"} <= line.keys():
            yield line


def attempts_text(told: str) -> str:
    """Turn the attempts of a line, `vendor/node:word, …`, into those of a record: `vendor/node=word|…`."""
    parts = [part.rpartition(":") for part in told.split(", ") if part]
    return "|".join(f"{who}={word}" if "/" in who else f"{who}/={word}" for who, _, word in parts)


def _note_record(journal: RunJournal, gateway: str, at: float, line: Line, batch_lines: Collection[str]) -> None:
    kind = "shelf_record" if f"/{str(line['route']).strip('/')}" in SHELF else "record"
    if line["request_id"] in batch_lines:
        kind = "line_record"
    queue_ms = line.get("queue_ms")
    journal.note_at(
        at,
        kind,
        gateway,
        request_id=str(line["request_id"]),
        status=int(str(line["status"])),
        code=_text(line, "code"),
        cancelled=bool(line.get("cancelled")),
        attempts=attempts_text(str(line.get("attempts", ""))),
        route=_text(line, "route"),
        key=_text(line, "key"),
        model=_text(line, "model"),
        node=_text(line, "node"),
        placement=_text(line, "placement"),
        queue_s=queue_ms / 1000 if isinstance(queue_ms, int | float) else None,
        cache=_text(line, "cache"),
        replayed=bool(line.get("replayed")),
        batch="of a batch" if kind == "line_record" else None,
    )


def _note_event(journal: RunJournal, gateway: str, at: float, line: Line) -> None:
    name = str(line["event"])
    told = {key: value for key, value in line.items() if key not in ("time", "event", "level")}
    text = " ".join(f"{key}={value}" for key, value in told.items())
    journal.note_at(at, "log", gateway, level=str(line.get("level", "")), name=name, text=text)
    if name == "breaker_turned":
        state, label = STATES[str(told["state"])], str(told["target"])
        later_s = 0.0 if state == STATES["half_open"] else CUT_S
        journal.note_at(at + later_s, "gauge", gateway, name="breaker_state", label=label, value=state)
    elif name == "node_turned":
        health, label = HEALTHS[str(told["health"])], str(told["node"])
        later_s = CUT_S if health in ILL else 0.0
        journal.note_at(at + later_s, "gauge", gateway, name="node_health", label=label, value=health)


def _text(line: Line, name: str) -> str | None:
    value = line.get(name)
    return None if value is None else str(value)
