"""The decision record: why this node, in one line of the debug log per choice.

Every candidate with every term of its weight, and one word why it was left out; the first MENTIONED_MAX of a large
fleet. Not here: the terms themselves (`domain/capacity/selection.py`).
"""

from collections.abc import Collection, Sequence

from ktms.domain.capacity.selection import Ask, Considered, explain
from ktms.domain.ids import NodeName
from ktms.domain.snapshot import Model
from ktms.engine.desk import Desk
from ktms.engine.trail import Trail
from ktms.ports.telemetry import Telemetry

MENTIONED_MAX = 64
"""A choice is made among as many at most; a line about ten thousand nodes helps nobody."""


def considered(desk: Desk, ask: Ask, refused: Collection[NodeName]) -> tuple[Considered, ...]:
    """Weigh the candidates of this moment: before a slot is taken, since the taking changes the counts."""
    return explain(desk.seats[:MENTIONED_MAX], ask, refused, desk.selector.band)


def tell_choice(
    telemetry: Telemetry, trail: Trail, model: Model, chosen: NodeName | None, weighed: Sequence[Considered]
) -> None:
    """Tell which node gave a slot, among whom it was chosen, and why not the others."""
    telemetry.event(
        "debug",
        "node_chosen",
        request_id=trail.call.request_id,
        model=model.name,
        node=chosen,
        candidates="; ".join(_told(one) for one in weighed),
    )


def _told(one: Considered) -> str:
    product = f"{one.base_weight} x {one.load:.2f} x {one.speed:.2f}"
    told = f" ({one.taken} by its engine)" if one.taken > one.busy else ""
    terms = (
        f"{one.health.name.lower()}{' cold' if one.cold else ''}, {one.busy} of {one.slots} busy{told}, "
        f"weight {one.weight:.2f} = {product}, finish {one.finish_s:.1f} s"
    )
    return f"{one.node}: {one.left_out or 'considered'} ({terms})"
