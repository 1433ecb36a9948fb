"""Slots on nodes, held as leases that every replica sees.

A lease lives for LEASE_TTL_S by the store's own clock and is renewed in batches while its answer is under way; a
replica that dies takes nothing along for longer than that.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.ids import LeaseId, NodeName

LEASE_TTL_S = 15.0
"""A killed replica's slots are free again after this."""

RENEW_EVERY_S = 5.0
"""Two renewals may be lost before a lease ends."""

EPOCH_GRACE_S = RENEW_EVERY_S + 1.0
"""A store found empty grants only renewals for so long: one renewal period, and a second for late ones."""


@dataclass(frozen=True, slots=True)
class SlotWish:
    """One node that would do, and its slots; with 0 it grants nothing, and tells how many are in use."""

    node: NodeName
    slots: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to one slot of `node`, until released or expired. `slots` are those it was asked with."""

    id: LeaseId
    node: NodeName
    slots: int = 1


@dataclass(frozen=True, slots=True)
class Grant:
    """The answer to a list of wishes: a lease, or None where all were full.

    `busy` are the leases on each node that was looked at, in the order of the wishes, a new one included; nodes
    behind the one that was granted are not looked at.
    """

    lease: Lease | None
    busy: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Renewed:
    """What one renewal found.

    `regained`: the store had lost them (it was empty, or they had expired) and took them up again; `over`: so too,
    although their node was full, so that no new lease is granted there until the count fits.
    """

    kept: int = 0
    regained: tuple[Lease, ...] = ()
    over: tuple[Lease, ...] = ()


class LeaseStoreAway(Exception):
    """The store cannot be asked, or has lost its memory and does not know yet: the state of the nodes is unknown.

    `kind` is one word for the metric: away, timeout, silenced (not asked at all for a while), unknown, error.
    """

    def __init__(self, kind: str = "away") -> None:
        super().__init__(f"the state of the nodes is not known: {kind}")
        self.kind = kind


class LeaseStore(Protocol):
    """Grants node slots. Never more live leases on a node than the slots it was asked with.

    A store that finds itself empty (its epoch is missing) grants nothing but renewals for one renewal period:
    others may hold leases that it has forgotten.
    """

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        """Take a slot on the first node of `wishes` that has one free, in one round trip. Safe to repeat.

        A cancelled or failed call leaves at most a lease that expires by itself: the store gives it back as soon
        as it learns of it.

        Raises:
            LeaseStoreAway: the store did not answer, or does not know.
        """
        ...

    def release(self, lease: Lease, *, drain_s: float = 0.0) -> None:
        """Give a slot back; returns at once, so no cancellation can come between.

        With `drain_s` the slot stays taken for so long (the engine may work on for a client that has left), or
        until `FleetBoard.drained` says that the node is idle. Twice is harmless; a store that is away is no error
        here (the lease expires by itself).
        """
        ...

    async def renew(self) -> Renewed:
        """Renew all leases of this replica, and its waiters, in one round trip whatever their number.

        Raises:
            LeaseStoreAway: the store did not answer; the leases live on until their time is over.
        """
        ...
