"""What the memory stores share: one catalogue with its keys, as one database would hold it.

For tests, simulated worlds and the contract suites; nothing is encrypted, nothing outlives the process. `away`
makes every store of it behave as if the database could not be asked.
"""

import asyncio
from dataclasses import dataclass, field

from ktms.domain.access.actor import Actor
from ktms.domain.access.client_key import AdminKey, ClientKey
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import Announcement
from ktms.domain.catalogue import DEFAULT_TENANT, Catalogue, ClientKeySpec, TenantSpec
from ktms.domain.catalogue_plan import StoredKey
from ktms.domain.ids import KeyId, VendorKeyId
from ktms.domain.issued_key import issued_key
from ktms.domain.joined_node import JoinedNode, NodePermit
from ktms.ports.catalogue import StoreAway
from ktms.ports.change_feed import CatalogueChanged, News

NEWS_MAX = 1_000
"""News one listener may leave untaken; beyond it the feed ends, as the real one does."""


@dataclass(slots=True)
class KeyRow:
    """One client key, revoked or not."""

    id: KeyId
    digest: bytes
    spec: ClientKeySpec
    revoked: bool = False


@dataclass(slots=True)
class NodeKeyRow:
    """One live key of a node, and what came with it; a revoked one is gone. `heard_at` is wall seconds."""

    id: KeyId
    digest: bytes
    permit: NodePermit
    announcement: Announcement | None = None
    heard_at: float = 0.0


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who changed what."""

    actor: Actor
    action: str
    subject: str


@dataclass(slots=True)
class MemoryStore:
    """The state itself. `catalogue` holds secrets, but those of client keys only as digests in `keys`."""

    version: int = 0
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(tenants=(TenantSpec(DEFAULT_TENANT),)))
    vendor_keys: dict[str, list[tuple[VendorKeyId, Secret]]] = field(default_factory=dict)
    keys: list[KeyRow] = field(default_factory=list)
    admin_keys: list[AdminKey] = field(default_factory=list)
    node_keys: list[NodeKeyRow] = field(default_factory=list)
    tenants_ever: dict[str, TenantSpec] = field(default_factory=dict)
    audit: list[AuditEntry] = field(default_factory=list)
    away: bool = False
    _listeners: set["asyncio.Queue[News | None]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.remember_tenants()

    def check_here(self) -> None:
        """Refuse while `away`.

        Raises:
            StoreAway: as told.
        """
        if self.away:
            raise StoreAway("the store in memory is told to be away")

    def remember_tenants(self) -> None:
        """Keep the newest form of every tenant: revoked keys still name one that is gone."""
        self.tenants_ever.update({tenant.name: tenant for tenant in self.catalogue.tenants})

    def live_key(self, name: str) -> KeyRow | None:
        """Give the key of this name that is not revoked."""
        return next((row for row in self.keys if row.spec.name == name and not row.revoked), None)

    def stored_keys(self) -> list[StoredKey]:
        """Give all keys as a plan takes them."""
        return [StoredKey(row.id, row.spec.name, row.digest, row.revoked) for row in self.keys]

    def issued(self, row: KeyRow) -> ClientKey:
        """Give the verified form of a key, with its tenant's limits of now."""
        tenant = self.tenants_ever[row.spec.tenant]
        return issued_key(row.spec, tenant, row.id, row.digest, revoked=row.revoked)

    def joined(self) -> list[JoinedNode]:
        """Give the nodes that were heard, oldest key first."""
        return [JoinedNode(row.permit, row.announcement) for row in self.node_keys if row.announcement]

    def move_on(self) -> int:
        """Count one more version, tell all listeners, and give its number."""
        self.version += 1
        self.tell(CatalogueChanged())
        return self.version

    def tell(self, news: News) -> None:
        """Tell all listeners."""
        for listener in set(self._listeners):
            if listener.qsize() >= NEWS_MAX:
                self._end(listener)
            else:
                listener.put_nowait(news)

    def hear(self) -> "asyncio.Queue[News | None]":
        """Begin to listen; None in the queue is the end."""
        listener: asyncio.Queue[News | None] = asyncio.Queue(NEWS_MAX + 1)
        self._listeners.add(listener)
        return listener

    def stop_hearing(self, listener: "asyncio.Queue[News | None]") -> None:
        """Stop listening; twice is harmless."""
        self._listeners.discard(listener)

    def cut_feeds(self) -> None:
        """Lose every listener's connection."""
        for listener in set(self._listeners):
            self._end(listener)

    def _end(self, listener: "asyncio.Queue[News | None]") -> None:
        self._listeners.discard(listener)
        listener.put_nowait(None)
