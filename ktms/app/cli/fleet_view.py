"""The live view of nodes and queues: as JSON, and as tables with bars."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.app.cli.screen import clean

BAR_CELLS = 10
"""Wide enough to tell a tenth, narrow enough for 80 columns."""

HEALTH_STYLES = {"healthy": "green", "suspect": "yellow", "down": "red"}

UNBROKEN = {"health", "slots", "speed", "next waits"}
"""Columns that narrow terminals leave whole: a bar in two lines tells nothing."""

FULL_SHARE = 1.0
BUSY_SHARE = 0.75
"""From here on the bar warns: the next calls may have to wait."""


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
    parts += [Text(""), _nodes(fleet, blocks=blocks)] if fleet.nodes else [Text("No node is known.")]
    if fleet.queues:
        parts += [Text(""), _queues(fleet, blocks=blocks)]
    return Group(*parts)


def bar(part: int, whole: int, *, blocks: bool) -> Text:
    """Draw how much is taken; more than the whole is shown as the whole, with its true numbers."""
    share = min(part / whole, FULL_SHARE) if whole > 0 else 0.0
    filled = round(share * BAR_CELLS)
    if part > 0:
        filled = max(filled, 1)  # what is in use at all is seen
    on, off = ("█", "░") if blocks else ("#", ".")
    style = "red" if share >= FULL_SHARE else "yellow" if share >= BUSY_SHARE else "green"
    return Text.assemble((on * filled, style), (off * (BAR_CELLS - filled), "dim"), f" {part}/{whole}")


def _head(fleet: admin_pb2.GetFleetResponse, address: str) -> Text:
    busy, slots = sum(node.busy for node in fleet.nodes), sum(node.slots for node in fleet.nodes)
    waiting = sum(queue.waiting for queue in fleet.queues)
    nodes = f"{len(fleet.nodes)} node{'' if len(fleet.nodes) == 1 else 's'}"
    return clean(f"{address}: {nodes}, {busy} of {slots} slots taken, {waiting} waiting", "bold")


def _nodes(fleet: admin_pb2.GetFleetResponse, *, blocks: bool) -> Table:
    table = _table("node", "health", "engine", "slots", "model", "window", "read/s", "write/s", "speed")
    for node in fleet.nodes:
        first: list[RenderableType] = [
            clean(node.name),
            _health(node),
            clean(node.engine),
            bar(node.busy, node.slots, blocks=blocks),
        ]
        for seat in node.seats:
            table.add_row(*first, *_seat_cells(seat))
            first = [""] * len(first)
        if not node.seats:
            table.add_row(*first)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column in UNBROKEN)
    return table


def _health(node: admin_pb2.NodeStatus) -> Text:
    if node.draining:
        return Text("draining", "yellow")
    return clean(node.health, HEALTH_STYLES.get(node.health, ""))


def _seat_cells(seat: admin_pb2.SeatStatus) -> list[RenderableType]:
    return [
        clean(f"{seat.model} (cold)" if seat.cold else seat.model, "dim" if seat.cold else ""),
        str(seat.context_window) if seat.HasField("context_window") else "-",
        f"{seat.prefill_tokens_per_s:.0f}" if seat.HasField("prefill_tokens_per_s") else "-",
        f"{seat.decode_tokens_per_s:.1f}" if seat.HasField("decode_tokens_per_s") else "-",
        f"x{seat.speed:.2f}",
    ]


def _queues(fleet: admin_pb2.GetFleetResponse, *, blocks: bool) -> Table:
    table = _table("queue", "waiting", "slots", "call takes", "next waits")
    for queue in fleet.queues:
        table.add_row(
            clean(queue.model),
            Text(str(queue.waiting), "yellow" if queue.waiting else ""),
            bar(queue.busy, queue.slots, blocks=blocks),
            f"{queue.holding_s:.1f} s",
            f"{queue.forecast_s:.1f} s" if queue.HasField("forecast_s") else Text("no node", "red"),
        )
    return table


def _node_facts(node: admin_pb2.NodeStatus) -> dict[str, object]:
    return {
        "name": node.name,
        "engine": node.engine,
        "health": node.health,
        "draining": node.draining,
        "busy": node.busy,
        "slots": node.slots,
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
