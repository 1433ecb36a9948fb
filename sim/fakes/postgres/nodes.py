"""Node keys and announcements as one replica has them: the product's memory store behind the database's line."""

from collections.abc import Sequence

from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.domain.access.actor import Actor
from ktms.domain.announcement import Announcement
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import KnownNode, NodeKey, NodePermit
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.node_registry import Announced
from sim.fakes.postgres.server import Line


class SimNodeRegistry:
    """Implements the `NodeRegistry` port."""

    def __init__(self, line: Line, entropy: Entropy, clock: Clock) -> None:
        self._line = line
        self._stored = MemoryNodeRegistry(line.server.store, entropy, clock)

    async def find(self, key_id: KeyId) -> NodeKey | None:
        """Give the live key of this public id."""
        return await self._line.ask("find_node_key", lambda: self._stored.find(key_id), _found)

    async def announce(self, key_id: KeyId, announcement: Announcement) -> Announced:
        """Take an announcement; what it refuses is an answer too, so it is judged at the database."""
        return await self._line.ask("announce", lambda: self._stored.announce(key_id, announcement), _version)

    async def issue(self, permit: NodePermit, *, actor: Actor) -> tuple[NodeKey, str]:
        """Make the key of a node."""
        return await self._line.ask("issue", lambda: self._stored.issue(permit, actor=actor), lambda _: "issued")

    async def revoke(self, name: NodeName, *, actor: Actor) -> bool:
        """Revoke the key of a node."""
        return await self._line.ask("revoke_node", lambda: self._stored.revoke(name, actor=actor), str)

    async def set_enabled(self, name: NodeName, *, enabled: bool, actor: Actor) -> bool:
        """Switch a node on or off."""
        return await self._line.ask(
            "set_enabled", lambda: self._stored.set_enabled(name, enabled=enabled, actor=actor), str
        )

    async def list(self) -> Sequence[KnownNode]:
        """Give all nodes."""
        return await self._line.ask("list_nodes", self._stored.list, lambda nodes: str(len(nodes)))


def _found(key: NodeKey | None) -> str:
    return "none" if key is None else "found"


def _version(announced: Announced) -> str:
    return f"version {announced.version}"
