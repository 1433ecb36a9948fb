"""What operators do to the stored catalogue and its keys, as facts.

Rules: it works while replicas are cut off, so a key may be revoked where nobody hears of it; `heard` False loses
the notification alone. Secrets that are stored become facts, so a checker can look for them where none may be.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import ClientKey
from ktms.domain.catalogue import Catalogue, ClientKeySpec, ModelSpec, TargetSpec
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import NodePermit
from ktms.ports.change_feed import CatalogueChanged
from ktms.ports.entropy import Entropy
from sim.fakes.clock import HostClock
from sim.fakes.postgres.server import SharedStore
from sim.journal.journal import Journal

HOST = "postgres"
OPERATOR = Actor("operator", Role.OWNER)

_STRAY = ModelSpec("stray-model", (TargetSpec("vendor-that-is-gone", "some-model"),))


class Operator:
    """Writes at the database itself; every change takes effect at once."""

    def __init__(self, store: SharedStore, entropy: Entropy, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._config = MemoryConfigStore(store, entropy)
        self._admin = MemoryKeyAdmin(store, entropy)
        self._nodes = MemoryNodeRegistry(store, entropy, HostClock())
        self._applied = Catalogue()
        self._told: set[str] = set()

    async def apply(self, catalogue: Catalogue, *, heard: bool = True) -> int:
        """Make this the stored catalogue, client keys aside, which stay; give the version in force after it.

        Raises:
            CatalogueInvalid: nothing was changed.
        """
        before = self._store.version
        wanted = replace(catalogue, client_keys=self._store.catalogue.client_keys)
        with self._perhaps_unheard(heard=heard):
            applied = await self._config.apply(wanted, actor=OPERATOR, prune=True, dry_run=False)
        self._applied = replace(catalogue, client_keys=())
        self._tell_secrets(catalogue)
        if applied.version != before:
            self._journal.note("catalogue_applied", HOST, version=applied.version, valid=True)
        return applied.version

    async def spoil(self, *, heard: bool = True) -> int:
        """Store a version that does not compile: a row written by hand, past every rule of the admin plane."""
        stored = self._store.catalogue
        if _STRAY not in stored.models:
            self._store.catalogue = replace(stored, models=(*stored.models, _STRAY))
        self._store.version += 1
        with self._perhaps_unheard(heard=heard):
            self._store.tell(CatalogueChanged())
        self._journal.note("catalogue_applied", HOST, version=self._store.version, valid=False)
        return self._store.version

    async def mend(self) -> int:
        """Apply again what was applied last, which takes the stray row away."""
        return await self.apply(self._applied)

    async def make_key(self, spec: ClientKeySpec) -> tuple[ClientKey, str]:
        """Store a new client key; the second value is its token."""
        key, token = await self._admin.create(spec, actor=OPERATOR)
        self._secret("client_key", token)
        self._journal.note("key_made", HOST, key=key.id, name=key.name)
        return key, token

    async def revoke(self, key_id: KeyId, *, heard: bool = True) -> bool:
        """Revoke a client key for good; False when there is none."""
        with self._perhaps_unheard(heard=heard):
            known = await self._admin.revoke(key_id, actor=OPERATOR)
        if known:
            self._journal.note("key_revoked", HOST, key=key_id, heard=heard)
        return known

    async def permit(self, name: str, models: tuple[str, ...]) -> str:
        """Issue the key of a node; gives its token."""
        _, token = await self._nodes.issue(NodePermit(name, models), actor=OPERATOR)
        self._secret("node_key", token)
        return token

    @contextmanager
    def _perhaps_unheard(self, *, heard: bool) -> Iterator[None]:
        self._store.muted = not heard
        try:
            yield
        finally:
            self._store.muted = False

    def _tell_secrets(self, catalogue: Catalogue) -> None:
        for vendor in catalogue.vendors:
            for secret in vendor.keys:
                self._secret("vendor_key", secret.reveal())
        for node in catalogue.nodes:
            if node.token is not None:
                self._secret("node_token", node.token.reveal())

    def _secret(self, what: str, value: str) -> None:
        if value not in self._told:
            self._told.add(value)
            self._journal.note("secret", HOST, what=what, value=value)
