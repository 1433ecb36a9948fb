"""Node keys and announcements in memory."""

from collections.abc import Sequence
from dataclasses import replace

from ktms.adapters.memory.store import AuditEntry, MemoryStore, NodeKeyRow
from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.announcement import Announcement, routes_alike
from ktms.domain.catalogue import NodeSpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import (
    JoinedNode,
    KnownNode,
    NodeKey,
    NodePermit,
    admitted,
    as_served,
    permit_complaints,
)
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.node_registry import (
    HEARTBEAT_WRITE_S,
    Announced,
    NodeKeyGone,
    NodeKeyTaken,
    StaleAnnouncement,
)


class MemoryNodeRegistry:
    """Stores node keys and announcements (port: NodeRegistry)."""

    def __init__(self, store: MemoryStore, entropy: Entropy, clock: Clock) -> None:
        self._store = store
        self._entropy = entropy
        self._clock = clock

    async def find(self, key_id: KeyId) -> NodeKey | None:
        """Give the live key of this public id."""
        self._store.check_here()
        row = next((row for row in self._store.node_keys if row.id == key_id), None)
        if row is None:
            return None
        said = row.announcement
        return NodeKey(row.id, row.digest, row.permit, None if said is None else said.epoch_ms)

    async def announce(self, key_id: KeyId, announcement: Announcement) -> Announced:
        """Take an announcement of the node whose key this is.

        Raises:
            NodeKeyGone: the key is not live.
            StaleAnnouncement: the stored epoch is newer.
        """
        self._store.check_here()
        row = next((row for row in self._store.node_keys if row.id == key_id), None)
        if row is None:
            raise NodeKeyGone
        before, now = row.announcement, self._clock.wall()
        if before is not None and before.epoch_ms > announcement.epoch_ms:
            raise StaleAnnouncement
        if before != announcement or now - row.heard_at >= HEARTBEAT_WRITE_S:
            row.announcement, row.heard_at = announcement, now
        version = None
        if before is None or not routes_alike(before, announcement):
            version = self._store.move_on()
        declared = self._declared(row.permit.name)
        joined = JoinedNode(row.permit, announcement)
        found = admitted(joined, declared)
        accepted = tuple(model.name for model in found.accepted)
        return Announced(accepted, found.ignored, as_served(joined, declared), version)

    async def issue(self, permit: NodePermit, *, actor: Actor) -> tuple[NodeKey, str]:
        """Make the key of a node; the second value is its token.

        Raises:
            NodeKeyTaken: the node has a live key.
            CatalogueInvalid: the permit breaks a rule of the catalogue.
        """
        self._store.check_here()
        found = tuple(permit_complaints(permit))
        if found:
            raise CatalogueInvalid(found)
        if self._row(NodeName(permit.name)):
            raise NodeKeyTaken
        token = make_key(KeyKind.NODE, self._entropy.token_bytes)
        text = read_key(token)
        assert text is not None, "a made key is well formed"
        self._store.node_keys.append(NodeKeyRow(text.id, text.digest, permit))
        self._changed(actor, "issue_node_key", permit.name)
        return NodeKey(text.id, text.digest, permit), token

    async def revoke(self, name: NodeName, *, actor: Actor) -> bool:
        """Revoke the key of a node for good and forget what it announced; False when it has no live key."""
        self._store.check_here()
        row = self._row(name)
        if row is None:
            return False
        self._store.node_keys.remove(row)
        self._changed(actor, "revoke_node_key", name)
        return True

    async def set_enabled(self, name: NodeName, *, enabled: bool, actor: Actor) -> bool:
        """Switch a node on or off, as declared and as joined; False when there is none of this name."""
        self._store.check_here()
        row, declared = self._row(name), self._declared(name)
        if row is None and declared is None:
            return False
        before = (row and row.permit, declared)
        if row is not None:
            row.permit = replace(row.permit, enabled=enabled)
        catalogue = self._store.catalogue
        nodes = tuple(replace(node, enabled=enabled) if node.name == name else node for node in catalogue.nodes)
        self._store.catalogue = replace(catalogue, nodes=nodes)
        if before != (row and row.permit, self._declared(name)):
            self._changed(actor, "set_node_enabled", name)
        return True

    async def list(self) -> Sequence[KnownNode]:
        """Give all nodes: declared ones in the order of the file, then those that only joined."""
        self._store.check_here()
        declared = {node.name: node for node in self._store.catalogue.nodes}
        rows = {row.permit.name: row for row in self._store.node_keys}
        names = (*declared, *(name for name in rows if name not in declared))
        return [self._known(name, declared.get(name), rows.get(name)) for name in names]

    def _known(self, name: str, declared: NodeSpec | None, row: NodeKeyRow | None) -> KnownNode:
        bare = None if declared is None else replace(declared, token=None)
        if row is None:
            return KnownNode(name, bare)
        if row.announcement is None:
            return KnownNode(name, bare, row.id, row.permit)
        said = replace(row.announcement, token=None)
        return KnownNode(name, bare, row.id, row.permit, said, row.heard_at, self._clock.wall() - row.heard_at)

    def _row(self, name: NodeName) -> NodeKeyRow | None:
        return next((row for row in self._store.node_keys if row.permit.name == name), None)

    def _declared(self, name: str) -> NodeSpec | None:
        return next((node for node in self._store.catalogue.nodes if node.name == name), None)

    def _changed(self, actor: Actor, action: str, name: str) -> None:
        self._store.audit.append(AuditEntry(actor, action, f"node {name}"))
        self._store.move_on()
