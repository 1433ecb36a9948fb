"""The fleet as one replica sees it: a state per node, and a seat per model that a node serves.

Mutable on purpose: one object per node and model lives as long as the node stands in the catalogue, and evidence,
leases and refreshes change it in place, so that a choice reads and computes nothing twice. Not here: what changes
them (`node_health.py`, `speed.py`), who is chosen (`selection.py`).
"""

from dataclasses import dataclass, field
from enum import IntEnum

from ktms.domain.capacity.holders import Holders
from ktms.domain.ids import VendorModel
from ktms.domain.snapshot import Node


class Health(IntEnum):
    """How a node does; a lower one is better."""

    HEALTHY = 0
    SUSPECT = 1
    DOWN = 2


PREFILL_UNKNOWN_TOKENS_PER_S = 500.0
DECODE_UNKNOWN_TOKENS_PER_S = 30.0
"""Assumed while nothing was measured: an ordinary desktop GPU. Only the order among nodes depends on it."""


@dataclass(slots=True, eq=False)
class NodeState:
    """One node. `busy`: leases as last seen, and counted by ourselves since; `slots`: how many it has at once.

    `ours`: leases of this replica; `others`: what is known of the rest.
    """

    node: Node
    slots: int
    busy: int = 0
    health: Health = Health.HEALTHY
    draining: bool = False
    ours: int = 0
    others: Holders = field(default_factory=Holders)


@dataclass(slots=True, eq=False)
class Seat:
    """One model on one node.

    `vendor_model` is the node's own spelling; `window` in tokens per slot, None: unknown. `cold`: the model is not
    in memory, or has not answered since it was loaded. `speed` is the factor of the weight (1 where nothing is
    known); the rates are those of one stream on an idle node, `slope` how much each further one slows all of them.
    """

    state: NodeState
    vendor_model: VendorModel
    window: int | None
    cold: bool = False
    speed: float = 1.0
    prefill_tokens_per_s: float = PREFILL_UNKNOWN_TOKENS_PER_S
    decode_tokens_per_s: float = DECODE_UNKNOWN_TOKENS_PER_S
    slope: float = 0.35
