"""Slots on nodes, held as leases."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.ids import LeaseId, NodeName


@dataclass(frozen=True, slots=True)
class SlotWish:
    """One node that would do, and how many slots it has."""

    node: NodeName
    slots: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to one slot of `node`, until released or expired."""

    id: LeaseId
    node: NodeName


class LeaseStoreAway(Exception):
    """The store cannot be asked: the state of the nodes is unknown."""


class LeaseStore(Protocol):
    """Grants node slots. Never more live leases on a node than the slots it was asked with."""

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Lease | None:
        """Take a slot on the first node of `wishes` that has one free; None when all are full.

        Raises:
            LeaseStoreAway: the store did not answer.
        """
        ...

    def release(self, lease: Lease) -> None:
        """Give a slot back; returns at once, so no cancellation can come between.

        Twice is harmless; a store that is away is no error here (the lease expires by itself).
        """
        ...

    def busy(self, node: NodeName) -> int:
        """Slots of this node in use, as last seen; a hint for ordering, never a promise."""
        ...
