"""In which order the nodes of a local target are asked for a slot.

For now by the share of busy slots, file order among equals; `busy` is a hint, the lease decides. Weights, speed
and the finish-time band are not here yet.
"""

from collections.abc import Callable, Collection, Sequence

from ktms.domain.capacity.serving import window_on
from ktms.domain.ids import NodeName, Region, VendorModel
from ktms.domain.snapshot import Node


def order(
    nodes: Sequence[Node],
    busy: Callable[[NodeName], int],
    *,
    vendor_model: VendorModel,
    need_tokens: int,
    regions: frozenset[Region] | None,
    refused: Collection[NodeName],
) -> tuple[Node, ...]:
    """Give the nodes that may take the call, the least busy first.

    Left out: those in `refused`, those whose known window is below `need_tokens`, those outside of `regions`.
    """
    able = [
        node
        for node in nodes
        if node.name not in refused
        and (regions is None or node.region in regions)
        and _holds(window_on(node, vendor_model), need_tokens)
    ]
    return tuple(sorted(able, key=lambda node: busy(node.name) / node.slots))


def _holds(window: int | None, need_tokens: int) -> bool:
    return window is None or window >= need_tokens
