"""The fleet in figures, for operators: what `ktms top` and the admin plane show. Shapes only."""

from dataclasses import dataclass

from ktms.domain.ids import ModelName, NodeName, VendorModel


@dataclass(frozen=True, slots=True)
class SeatStatus:
    """One model on one node; rates in tokens per second, None: not measured yet."""

    vendor_model: VendorModel
    window: int | None
    cold: bool
    speed: float
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    samples: int = 0


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node. `health` is healthy, suspect, down or barred (it refuses our token).

    `busy` counts the leases of all replicas, as last seen.

    `engine_calls` and `kv_used` are what the engine says of itself, None: it does not, or too long ago.
    """

    name: NodeName
    engine: str
    health: str
    draining: bool
    busy: int
    slots: int
    engine_calls: int | None = None
    kv_used: float | None = None
    seats: tuple[SeatStatus, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """One model's queue. `waiting` counts all replicas; `forecast_s`: what one more would wait, None: no node."""

    model: ModelName
    waiting: int
    slots: int
    busy: int
    holding_s: float
    forecast_s: float | None


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """One replica's view. `known` is False while Redis does not answer: the counts are old then."""

    known: bool
    nodes: tuple[NodeStatus, ...] = ()
    queues: tuple[QueueStatus, ...] = ()
