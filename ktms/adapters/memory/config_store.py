"""The declared catalogue changed in memory, by the same plan as in the database."""

from dataclasses import replace
from uuid import UUID

from ktms.adapters.memory.store import AuditEntry, KeyRow, MemoryStore
from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec
from ktms.domain.catalogue_plan import Plan, plan_apply
from ktms.domain.ids import VendorKeyId
from ktms.ports.change_feed import CatalogueChanged, KeyChanged
from ktms.ports.config_store import Applied, NewKey
from ktms.ports.entropy import Entropy

ROW_ID_BYTES = 16


class MemoryConfigStore:
    """Reads and replaces the declared catalogue (port: ConfigStore)."""

    def __init__(self, store: MemoryStore, entropy: Entropy) -> None:
        self._store = store
        self._entropy = entropy

    async def export(self) -> Catalogue:
        """Give the stored catalogue; secrets are absent (None or empty)."""
        self._store.check_here()
        stored = self._store.catalogue
        return replace(
            stored,
            vendors=tuple(replace(vendor, keys=()) for vendor in stored.vendors),
            nodes=tuple(replace(node, token=None) for node in stored.nodes),
        )

    async def apply(self, wanted: Catalogue, *, actor: Actor, prune: bool, dry_run: bool) -> Applied:
        """Make the stored catalogue what is wanted, or change nothing."""
        self._store.check_here()
        plan = plan_apply(self._store.catalogue, wanted, self._store.stored_keys(), prune=prune)
        if dry_run or not plan.changes:
            return Applied(self._store.version, plan.changes, ())
        made = self._write_keys(plan)
        bare_keys = tuple(replace(key, secret=None) for key in plan.merged.client_keys)
        self._store.catalogue = replace(plan.merged, client_keys=bare_keys)
        self._store.remember_tenants()
        self._store.vendor_keys = {
            vendor.name: self._identified(vendor.name, vendor.keys) for vendor in plan.merged.vendors
        }
        self._store.version += 1
        self._store.audit.append(AuditEntry(actor, "apply", "catalogue"))
        self._store.tell(CatalogueChanged())
        return Applied(self._store.version, plan.changes, made)

    def _identified(self, vendor: str, keys: tuple[Secret, ...]) -> list[tuple[VendorKeyId, Secret]]:
        """Give every key an id; one that stays keeps its own."""
        left = list(self._store.vendor_keys.get(vendor, ()))
        identified: list[tuple[VendorKeyId, Secret]] = []
        for secret in keys:
            same = next((entry for entry in left if entry[1] == secret), None)
            if same is None:
                fresh = UUID(bytes=self._entropy.token_bytes(ROW_ID_BYTES), version=4)
                same = (VendorKeyId(str(fresh)), secret)
            else:
                left.remove(same)
            identified.append(same)
        return identified

    def _write_keys(self, plan: Plan) -> tuple[NewKey, ...]:
        changes = [change for change in plan.changes if change.kind == "client_key"]
        wanted = {spec.name: spec for spec in plan.merged.client_keys}
        made: list[NewKey] = []
        for change in changes:
            row = self._store.live_key(change.name)
            if row is not None:
                self._store.tell(KeyChanged(row.id))
            if row is not None and (change.action == "remove" or "secret" in change.fields):
                row.revoked = True
            if change.action == "add" or "secret" in change.fields:
                made += self._add(wanted[change.name])
            elif row is not None and change.action == "change":
                row.spec = replace(wanted[change.name], secret=None)
        return tuple(made)

    def _add(self, spec: ClientKeySpec) -> tuple[NewKey, ...]:
        token = spec.secret.reveal() if spec.secret else make_key(KeyKind.CLIENT, self._entropy.token_bytes)
        text = read_key(token)
        assert text is not None, "a given token was checked before, a made one is well formed"
        self._store.keys.append(KeyRow(text.id, text.digest, replace(spec, secret=None)))
        return () if spec.secret else (NewKey(spec.name, token),)
