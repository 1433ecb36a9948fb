"""Turns figures into a table, a JSON file, a picture, and the table in the documentation."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from tests.perf.bars import Bar
from tests.perf.contenders import ALL_ON, DIRECT, GATEWAY, GATEWAYS, LineUp
from tests.perf.machine import Machine, interpreter_line
from tests.perf.measure import ALONE, BUSY, IDLE, STREAMS, Figures
from tests.perf.windows import Samples

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


class Column(NamedTuple):
    """One column of the table; a cost also shows its lower quartile."""

    heading: str
    part: str
    figure: str
    factor: float = 1.0
    is_cost: bool = True


COLUMNS = (
    Column("CPU us/request", BUSY, "cpu_us"),
    Column("of Redis", BUSY, "beside_us"),
    Column("requests/s", BUSY, "per_s", is_cost=False),
    Column("p50 ms, alone", ALONE, "p50_ms"),
    Column("p99 ms, alone", ALONE, "p99_ms"),
    Column("CPU us/chunk", STREAMS, "cpu_us"),
    Column("first chunk p99 ms", STREAMS, "first_p99_ms"),
    Column("kB/idle stream", IDLE, "bytes", 1e-3),
)


def table(line_up: LineUp, figures: Figures, rows: list[Bar], machine: Machine) -> str:
    """Write the whole report as Markdown that also reads well on a terminal."""
    parts = [
        _machine(machine),
        _switches(line_up),
        _proof(line_up),
        _crowding(line_up, figures),
        _contenders(line_up, figures),
        _ratios(line_up, figures),
    ]
    if line_up.named(GATEWAY) is not None:
        parts.append(_bars(rows))
    return "\n\n".join(part for part in parts if part)


def _grid(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def shown(value: float | None) -> str:
    """Write a figure with as many digits as mean something."""
    if value is None:
        return "-"
    if abs(value) >= 100:  # three digits
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"  # three digits


def _machine(machine: Machine) -> str:
    load = ", ".join(f"{value:.2f}" for value in machine.load_before)
    shared = "" if machine.cpus > 1 else "; contenders share their processor with the load generator"
    return f"{interpreter_line(machine)}; {machine.cpus} processors, load before {load}{shared}."


def _switches(line_up: LineUp) -> str:
    """Say what each gateway has switched on: all of the first, of the others what differs from it."""
    said: list[str] = []
    first: dict[str, str] | None = None
    for gateway in (line_up.named(name) for name in GATEWAYS):
        if gateway is None:
            continue
        switches: dict[str, str] = gateway.facts.get("switches", {})
        told = ", ".join(f"{part} {state}" for part, state in switches.items() if (first or {}).get(part) != state)
        said.append(f"{gateway.name.capitalize()} with: {told}.")
        first = first or switches
    return " ".join(said)


def _proof(line_up: LineUp) -> str:
    """Say what every gateway has proved; a run that proved it not has no report."""
    gateways = [one for one in (line_up.named(name) for name in GATEWAYS) if one is not None and one.tells]
    calls = ", ".join(f"{one.name}: {_sum(needs)}" for one in gateways if (needs := one.facts["per_request"]))
    if not gateways:
        return ""
    return (
        "Proved in this run: a usage row for every request, no lease and no reservation left, and script calls in"
        f" Redis per request as documented ({calls})."
    )


def _sum(per_request: dict[str, int]) -> str:
    return " + ".join(f"{times} {script}" for script, times in per_request.items())


WAITED_MAX = 0.1
"""Beyond it something else ran on the contenders' processor, and latencies tell of that as well."""


def _crowding(line_up: LineUp, figures: Figures) -> str:
    """Say when the contenders did not have their processor to themselves."""
    shares = [figures.of(part, c.name).median("waited") for c in line_up.contenders for part in (BUSY, STREAMS)]
    worst = max((share for share in shares if share is not None), default=0.0)
    if worst <= WAITED_MAX:
        return ""
    return (
        f"**Not a quiet machine**: a contender waited up to {worst:.0%} of its time for a processor."
        " Processor times are usable, latencies and stalls are not."
    )


def _contenders(line_up: LineUp, figures: Figures) -> str:
    rows = [["median (lower quartile)", *(column.heading for column in COLUMNS)]]
    for contender in line_up.contenders:
        cells = [_cell(figures.of(column.part, contender.name), column) for column in COLUMNS]
        rows.append([contender.name, *cells])
    absent = ", ".join(f"{name} ({reason})" for name, reason in line_up.absent.items())
    return _grid(rows) + (f"\n\nNot measured: {absent}." if absent else "")


def _cell(samples: Samples, column: Column) -> str:
    middle, low = samples.median(column.figure), samples.quartile(column.figure)
    if middle is None or low is None:
        return "-"
    if not column.is_cost:
        return shown(middle * column.factor)
    return f"{shown(middle * column.factor)} ({shown(low * column.factor)})"


def ratios(line_up: LineUp, figures: Figures) -> dict[str, dict[str, float]]:
    """Give the lower quartiles of two gateways, without limits and with everything on, divided by all others'."""
    result: dict[str, dict[str, float]] = {}
    for contender in line_up.contenders:
        if contender.name in {DIRECT, *GATEWAYS}:
            continue
        for label, name, part in RATIOS:
            own = figures.of(part, name).quartile("cpu_us")
            other = figures.of(part, contender.name).quartile("cpu_us")
            if own is not None and other:
                result.setdefault(contender.name, {})[label] = own / other
    return result


RATIOS = (
    ("request", GATEWAY, BUSY),
    ("request, all on", ALL_ON, BUSY),
    ("chunk", GATEWAY, STREAMS),
    ("chunk, all on", ALL_ON, STREAMS),
)


def _ratios(line_up: LineUp, figures: Figures) -> str:
    labels = [label for label, _, _ in RATIOS]
    rows = [["CPU of the gateway as a multiple of", *(f"per {label}" for label in labels)]]
    for name, found in ratios(line_up, figures).items():
        rows.append([name, *(shown(found.get(label)) for label in labels)])
    return _grid(rows) if len(rows) > 1 else ""


def _bars(rows: list[Bar]) -> str:
    cells = [["figure (lower quartile)", "measured", "first bar", "goal", "verdict"]]
    cells += [
        [f"{bar.name} ({bar.unit})", shown(bar.value), shown(bar.first), shown(bar.goal), bar.verdict.value]
        for bar in rows
    ]
    return _grid(cells)


def write_json(
    path: Path, line_up: LineUp, figures: Figures, rows: list[Bar], machine: Machine, mode: str
) -> None:
    """Write everything, single samples included."""
    gateways = [one for one in (line_up.named(name) for name in GATEWAYS) if one is not None]
    value = {
        "mode": mode,
        "machine": machine._asdict(),
        "switches": {gateway.name: gateway.facts.get("switches", {}) for gateway in gateways},
        "absent": line_up.absent,
        "samples": {
            part: {name: samples.figures for name, samples in by_name.items()}
            for part, by_name in figures.samples.items()
        },
        "slope": asdict(figures.slope) if figures.slope else None,
        "ratios": ratios(line_up, figures),
        "bars": [{**asdict(bar), "verdict": bar.verdict.value} for bar in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def update_document(path: Path, text: str) -> bool:
    """Replace what stands between the markers; False when the document has none."""
    if not path.exists():
        return False
    document = path.read_text()
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        return False
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return True
