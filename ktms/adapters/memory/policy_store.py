"""The policy in memory."""

from collections.abc import Collection
from dataclasses import replace

from ktms.adapters.memory.store import AuditEntry, MemoryStore
from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import PolicySpec
from ktms.domain.policy_edit import edited
from ktms.ports.policy_store import Policy


class MemoryPolicyStore:
    """Reads and changes the stored policy (port: PolicyStore)."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def policy(self) -> Policy:
        """Give the stored policy."""
        self._store.check_here()
        return Policy(self._store.catalogue.policy, self._store.version)

    async def change_policy(self, wanted: PolicySpec, names: Collection[str], *, actor: Actor) -> Policy:
        """Take the settings named from `wanted` and keep the others.

        Raises:
            CatalogueInvalid: a name that is no setting, or a value that breaks a rule.
        """
        self._store.check_here()
        stored = self._store.catalogue.policy
        after = edited(stored, wanted, names)
        if after != stored:
            self._store.catalogue = replace(self._store.catalogue, policy=after)
            self._store.audit.append(AuditEntry(actor, "set_policy", "policy"))
            self._store.move_on()
        return Policy(after, self._store.version)
