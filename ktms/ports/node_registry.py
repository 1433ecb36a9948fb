"""Nodes that join by themselves: keys for them, what they announce, and the way back to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.access.actor import Actor
from ktms.domain.announcement import Announcement
from ktms.domain.catalogue import NodeSpec
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import KnownNode, NodeKey, NodePermit
from ktms.domain.snapshot import Node

HEARTBEAT_WRITE_S = 10.0
"""An announcement that says nothing new moves the time it was heard, at most once per this time."""


class NodeKeyTaken(Exception):
    """The node has a live key already: one agent at a time holds a node's name."""


class NodeKeyGone(Exception):
    """The key was revoked, or never there."""


class StaleAnnouncement(Exception):
    """An agent that started later announces under this name: this one is fenced off."""


@dataclass(frozen=True, slots=True)
class Announced:
    """What became of an announcement.

    `served` is the node as calls meet it from now on; `version` is the catalogue's afterwards, None where nothing
    changed that calls would notice.
    """

    accepted: tuple[str, ...]
    ignored: tuple[str, ...]
    served: NodeSpec
    version: int | None


class NodeRegistry(Protocol):
    """Stores node keys and announcements.

    A change that an operator makes is audited, moves the catalogue's version and is told to all replicas, in one
    transaction. All methods raise StoreAway (ports/catalogue.py) when the database does not answer.
    """

    async def find(self, key_id: KeyId) -> NodeKey | None:
        """Give the live key of this public id, with the epoch last announced; revoked ones are absent."""
        ...

    async def announce(self, key_id: KeyId, announcement: Announcement) -> Announced:
        """Take an announcement of the node whose key this is; it was checked before.

        The same again only moves the time it was heard (HEARTBEAT_WRITE_S). What changes the way of calls moves
        the catalogue's version and is told to all replicas.

        Raises:
            NodeKeyGone: the key is no longer live.
            StaleAnnouncement: the stored epoch is newer.
        """
        ...

    async def issue(self, permit: NodePermit, *, actor: Actor) -> tuple[NodeKey, str]:
        """Make the key of a node; the second value is its token, shown this once.

        Raises:
            NodeKeyTaken: the node has a live key.
            CatalogueInvalid: the permit breaks a rule of the catalogue.
        """
        ...

    async def revoke(self, name: NodeName, *, actor: Actor) -> bool:
        """Revoke the key of a node for good and forget what it announced; False when it has no live key."""
        ...

    async def set_enabled(self, name: NodeName, *, enabled: bool, actor: Actor) -> bool:
        """Switch a node on or off, as declared and as joined; False when there is none of this name."""
        ...

    async def list(self) -> Sequence[KnownNode]:
        """Give all nodes: declared ones in the order of the file, then those that only joined, oldest first."""
        ...


class NodeVerifier(Protocol):
    """The way back to a node, by a real request."""

    async def verify(self, node: Node) -> str | None:
        """Have the node generate one token; None when it did, else the reason in one line, without an address."""
        ...
