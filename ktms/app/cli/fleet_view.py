"""The live view of nodes and queues: as JSON, and as tables with bars.

A terminal that is too narrow for all columns is shown fewer, and numbers for bars: names are what none of the rest
means anything without.
"""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.screen import clean

BAR_CELLS = 10
"""Wide enough to tell a tenth, narrow enough for 80 columns."""

HEALTH_STYLES = {"healthy": "green", "suspect": "yellow", "down": "red", "barred": "red"}

NODE_COLUMNS = ("node", "health", "engine", "slots", "model", "window", "read/s", "write/s", "speed")
QUEUE_COLUMNS = ("queue", "waiting", "slots", "call takes", "next waits")

BARS = "bars"

SPARED_OF_NODES = ("window", "read/s", "write/s", "speed", "engine", BARS, "model")
SPARED_OF_QUEUES = ("call takes", BARS, "slots")
"""What is left out where it does not fit, the first one first; of bars their numbers stay."""

MEASURED_COLUMNS_MAX = 10_000
"""Wider than any table here, so that it says how much it needs."""

UNBROKEN = {"health", "slots", "speed", "waiting", "call takes", "next waits"}
"""Columns that narrow terminals leave whole: a bar in two lines tells nothing."""

FULL_SHARE = 1.0
BUSY_SHARE = 0.75
"""From here on the bar warns: the next calls may have to wait."""


class Fitting:
    """A table that leaves out what a terminal has no room for; into a pipe it goes whole."""

    def __init__(self, make: Callable[[frozenset[str]], Table], spared: Sequence[str]) -> None:
        self._make = make
        self._spared = spared

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Give the widest of its tables that fits; the narrowest where none does."""
        spared = self._spared if console.is_terminal else ()
        table = self._make(frozenset())
        for count in range(1, len(spared) + 1):
            if _needs(table, console, options) <= options.max_width:
                break
            table = self._make(frozenset(spared[:count]))
        yield table


def _needs(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Measure the columns that a table takes with no word of it broken."""
    return Measurement.get(console, options.update(width=MEASURED_COLUMNS_MAX), table).minimum


def fleet_facts(fleet: admin_pb2.GetFleetResponse) -> dict[str, object]:
    """What is shown of the fleet; null means not measured, or no node."""
    return {
        "known": fleet.known,
        "nodes": [_node_facts(node) for node in fleet.nodes],
        "queues": [_queue_facts(queue) for queue in fleet.queues],
    }


def fleet_view(fleet: admin_pb2.GetFleetResponse, address: str, *, blocks: bool) -> RenderableType:
    """Make the view; `blocks` says whether bars may be drawn with block characters."""
    parts: list[RenderableType] = [_head(fleet, address)]
    if not fleet.known:
        parts.append(Text("Redis does not answer this replica: the counts are old.", "yellow"))
    if fleet.nodes:
        parts += [Text(""), Fitting(lambda spared: _nodes(fleet, spared, blocks=blocks), SPARED_OF_NODES)]
    else:
        parts.append(Text("No node is known."))
    if fleet.queues:
        parts += [Text(""), Fitting(lambda spared: _queues(fleet, spared, blocks=blocks), SPARED_OF_QUEUES)]
    return Group(*parts)


def _taken(part: int, whole: int, spared: frozenset[str], *, blocks: bool) -> Text:
    """Draw how much is taken, or write it where there is no room for a bar."""
    return Text(f"{part}/{whole}", _style(part, whole)) if BARS in spared else bar(part, whole, blocks=blocks)


def bar(part: int, whole: int, *, blocks: bool) -> Text:
    """Draw how much is taken; more than the whole is shown as the whole, with its true numbers."""
    share = _share(part, whole)
    filled = round(share * BAR_CELLS)
    if part > 0:
        filled = max(filled, 1)  # what is in use at all is seen
    on, off = ("█", "░") if blocks else ("#", ".")
    done, left = (on * filled, _style(part, whole)), (off * (BAR_CELLS - filled), "dim")
    return Text.assemble(done, left, f" {part}/{whole}")


def _share(part: int, whole: int) -> float:
    return min(part / whole, FULL_SHARE) if whole > 0 else 0.0


def _style(part: int, whole: int) -> str:
    share = _share(part, whole)
    return "red" if share >= FULL_SHARE else "yellow" if share >= BUSY_SHARE else "green"


def _head(fleet: admin_pb2.GetFleetResponse, address: str) -> Text:
    busy, slots = sum(node.busy for node in fleet.nodes), sum(node.slots for node in fleet.nodes)
    waiting = sum(queue.waiting for queue in fleet.queues)
    nodes = f"{len(fleet.nodes)} node{'' if len(fleet.nodes) == 1 else 's'}"
    return clean(f"{address}: {nodes}, {busy} of {slots} slots taken, {waiting} waiting", "bold")


def _nodes(fleet: admin_pb2.GetFleetResponse, spared: frozenset[str], *, blocks: bool) -> Table:
    rows: list[dict[str, Text]] = []
    for node in fleet.nodes:
        first: dict[str, Text] = {
            "node": clean(node.name),
            "health": _health(node),
            "engine": _engine(node),
            "slots": _taken(node.busy, node.slots, spared, blocks=blocks),
        }
        seats = [_seat_cells(seat) for seat in node.seats] or [{}]
        rows += [{**(first if place == 0 else {}), **cells} for place, cells in enumerate(seats)]
    return _table(NODE_COLUMNS, rows, spared)


def _table(columns: Sequence[str], rows: Sequence[dict[str, Text]], spared: frozenset[str]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    shown = [column for column in columns if column not in spared]
    for column in shown:
        whole = column in UNBROKEN
        width = max([len(column), *(row[column].cell_len for row in rows if column in row)])
        table.add_column(column, no_wrap=whole, min_width=width if whole else None, overflow="fold")
    for row in rows:
        table.add_row(*(row.get(column, "") for column in shown))
    return table


def _engine(node: admin_pb2.NodeStatus) -> Text:
    """Name the engine, and what it says of itself: more calls than slots taken are those of others."""
    told = f", {node.engine_calls} calls" if node.HasField("engine_calls") else ""
    told += f", KV {node.kv_used:.0%}" if node.HasField("kv_used") else ""
    return clean(f"{node.engine}{told}", "yellow" if node.engine_calls > node.busy else "")


def _health(node: admin_pb2.NodeStatus) -> Text:
    if node.draining:
        return Text("draining", "yellow")
    return clean(node.health, HEALTH_STYLES.get(node.health, ""))


def _seat_cells(seat: admin_pb2.SeatStatus) -> dict[str, Text]:
    return {
        "model": clean(f"{seat.model} (cold)" if seat.cold else seat.model, "dim" if seat.cold else ""),
        "window": Text(str(seat.context_window) if seat.HasField("context_window") else "-"),
        "read/s": Text(f"{seat.prefill_tokens_per_s:.0f}" if seat.HasField("prefill_tokens_per_s") else "-"),
        "write/s": Text(f"{seat.decode_tokens_per_s:.1f}" if seat.HasField("decode_tokens_per_s") else "-"),
        "speed": Text(f"x{seat.speed:.2f}"),
    }


def _queues(fleet: admin_pb2.GetFleetResponse, spared: frozenset[str], *, blocks: bool) -> Table:
    rows: list[dict[str, Text]] = [
        {
            "queue": clean(queue.model),
            "waiting": Text(str(queue.waiting), "yellow" if queue.waiting else ""),
            "slots": _taken(queue.busy, queue.slots, spared, blocks=blocks),
            "call takes": Text(f"{queue.holding_s:.1f} s"),
            "next waits": Text(f"{queue.forecast_s:.1f} s" if queue.HasField("forecast_s") else "-"),
        }
        for queue in fleet.queues
    ]
    return _table(QUEUE_COLUMNS, rows, spared)


def _node_facts(node: admin_pb2.NodeStatus) -> dict[str, object]:
    return {
        "name": node.name,
        "engine": node.engine,
        "health": node.health,
        "draining": node.draining,
        "busy": node.busy,
        "slots": node.slots,
        "engine_calls": node.engine_calls if node.HasField("engine_calls") else None,
        "kv_used": node.kv_used if node.HasField("kv_used") else None,
        "models": [
            {
                "name": seat.model,
                "context_window": seat.context_window if seat.HasField("context_window") else None,
                "cold": seat.cold,
                "speed": seat.speed,
                "prefill_tokens_per_s": (
                    seat.prefill_tokens_per_s if seat.HasField("prefill_tokens_per_s") else None
                ),
                "decode_tokens_per_s": seat.decode_tokens_per_s if seat.HasField("decode_tokens_per_s") else None,
                "samples": seat.samples,
            }
            for seat in node.seats
        ],
    }


def _queue_facts(queue: admin_pb2.QueueStatus) -> dict[str, object]:
    return {
        "model": queue.model,
        "waiting": queue.waiting,
        "slots": queue.slots,
        "busy": queue.busy,
        "holding_s": queue.holding_s,
        "forecast_s": queue.forecast_s if queue.HasField("forecast_s") else None,
    }
