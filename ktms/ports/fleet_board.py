"""What the replicas tell each other about the machines: counts to choose by, and what whoever probes has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import ModelName, NodeName


@dataclass(frozen=True, slots=True)
class Seen:
    """One report and how old it is, by the store's clock."""

    report: NodeReport
    age_s: float


@dataclass(frozen=True, slots=True)
class BoardView:
    """The board at one moment. `busy`: live leases per node asked for; `waiting`: waiters per model asked for."""

    busy: Mapping[NodeName, int] = field(default_factory=dict)
    waiting: Mapping[ModelName, int] = field(default_factory=dict)
    seen: tuple[Seen, ...] = ()


class FleetBoard(Protocol):
    """Shared by all replicas; every method is one or a few bounded round trips.

    Raises of all methods: LeaseStoreAway where the store does not answer.
    """

    async def read(self, nodes: Sequence[NodeName], models: Sequence[ModelName]) -> BoardView:
        """Read counts and the newest report of each of these nodes."""
        ...

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Whether this replica has a duty for the next `ttl_s`: one at a time, who has it may keep it."""
        ...

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put up what was found; replaces older reports about the same nodes."""
        ...

    async def drained(self, nodes: Sequence[NodeName]) -> None:
        """Free the draining slots of nodes whose engine was seen idle."""
        ...
