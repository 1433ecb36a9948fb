"""Client and admin keys managed in memory."""

from collections.abc import Sequence
from dataclasses import replace

from ktms.adapters.memory.store import AuditEntry, KeyRow, MemoryStore
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import AdminKey, ClientKey
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.catalogue_rules import CatalogueInvalid, complaints
from ktms.domain.ids import KeyId
from ktms.ports.change_feed import KeyChanged
from ktms.ports.entropy import Entropy
from ktms.ports.key_admin import NameTaken, UnknownTenant


class MemoryKeyAdmin:
    """Creates, lists and revokes keys (port: KeyAdmin)."""

    def __init__(self, store: MemoryStore, entropy: Entropy) -> None:
        self._store = store
        self._entropy = entropy

    async def create(self, spec: ClientKeySpec, *, actor: Actor) -> tuple[ClientKey, str]:
        """Store a new client key; the second value is its token."""
        self._store.check_here()
        catalogue = self._store.catalogue
        if spec.tenant not in {tenant.name for tenant in catalogue.tenants}:
            raise UnknownTenant(f"there is no tenant {spec.tenant!r}")
        found = complaints(replace(catalogue, client_keys=(spec,)))
        if found:
            raise CatalogueInvalid(found)
        if self._store.live_key(spec.name):
            raise NameTaken(f"a key named {spec.name!r} exists already")
        token = spec.secret.reveal() if spec.secret else make_key(KeyKind.CLIENT, self._entropy.token_bytes)
        text = read_key(token)
        assert text is not None, "a given token was checked above, a made one is well formed"
        if text.id in {row.id for row in self._store.keys}:
            raise NameTaken("the given token belongs to another key already")
        row = KeyRow(text.id, text.digest, replace(spec, secret=None))
        self._store.keys.append(row)
        self._store.audit.append(AuditEntry(actor, "create_key", f"client_key {spec.name}"))
        self._store.catalogue = replace(catalogue, client_keys=(*catalogue.client_keys, row.spec))
        return self._store.issued(row), token

    async def list(self) -> Sequence[ClientKey]:
        """Give all client keys, oldest first, revoked ones included."""
        self._store.check_here()
        return [self._store.issued(row) for row in self._store.keys]

    async def revoke(self, key_id: KeyId, *, actor: Actor) -> bool:
        """Revoke a client key for good; False when there is none; twice is harmless."""
        self._store.check_here()
        row = next((row for row in self._store.keys if row.id == key_id), None)
        if row is None:
            return False
        if not row.revoked:
            row.revoked = True
            self._store.audit.append(AuditEntry(actor, "revoke_key", f"client_key {row.spec.name}"))
            catalogue = self._store.catalogue
            left = tuple(key for key in catalogue.client_keys if key.name != row.spec.name)
            self._store.catalogue = replace(catalogue, client_keys=left)
            self._store.tell(KeyChanged(key_id))
        return True

    async def find_admin(self, key_id: KeyId) -> AdminKey | None:
        """Give a stored admin key by its public id."""
        self._store.check_here()
        return next((key for key in self._store.admin_keys if key.id == key_id), None)

    async def bootstrap(self, token: str, *, role: Role = Role.OWNER) -> bool:
        """Store the first owner under `token` if there is no owner yet; False when there is one."""
        self._store.check_here()
        text = read_key(token)
        if text is None or text.kind is not KeyKind.ADMIN:
            raise ValueError("the bootstrap key is not a complete admin key (ktms_adm_…)")
        if any(key.role == Role.OWNER and not key.revoked for key in self._store.admin_keys):
            return False
        self._store.admin_keys.append(AdminKey(text.id, text.digest, "bootstrap", role.value))
        return True
