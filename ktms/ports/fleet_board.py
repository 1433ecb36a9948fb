"""What the replicas tell each other about the machines: counts to choose by, and what whoever probes has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ktms.domain.capacity.node_report import NodeReport
from ktms.domain.ids import ModelName, NodeName

REPORT_TTL_S = 3600.0
"""A look that nobody renewed for so long is about a node that is gone."""

SPOKEN_TTL_S = 10.0
"""Replicas read once a second; that a node has generated a token says nothing new for longer than two looks."""


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
        """Read counts, and of each of these nodes the last look and, for SPOKEN_TTL_S, its last token."""
        ...

    async def claim(self, duty: str, ttl_s: float) -> bool:
        """Whether this replica has a duty for the next `ttl_s`: one at a time, who has it may keep it."""
        ...

    async def post(self, reports: Sequence[NodeReport]) -> None:
        """Put up what was found; replaces older reports about the same nodes.

        A token (`Look.SPOKE`) says nothing of what a look tells, so it stands beside the last one.
        """
        ...

    async def moment(self) -> float:
        """Give the time by the store's own clock, in seconds."""
        ...

    async def drained(self, nodes: Sequence[NodeName], until: float) -> None:
        """Free the slots of nodes whose engine was seen idle, but for those that drain only since `until`.

        `until` is a `moment` from before these nodes were looked at: what began later was not seen.
        """
        ...
