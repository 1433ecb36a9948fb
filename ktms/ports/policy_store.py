"""The policy of the whole gateway, setting by setting."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from ktms.domain.access.actor import Actor
from ktms.domain.catalogue import PolicySpec


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy in force, and the version of the catalogue that holds it."""

    spec: PolicySpec
    version: int


class PolicyStore(Protocol):
    """Reads and changes the stored policy. All methods raise StoreAway (ports/catalogue.py)."""

    async def policy(self) -> Policy:
        """Give the stored policy."""
        ...

    async def change_policy(self, wanted: PolicySpec, names: Collection[str], *, actor: Actor) -> Policy:
        """Take the settings named from `wanted` and keep the others, in one transaction, audited and told to all.

        Nothing is written where nothing changes.

        Raises:
            CatalogueInvalid: a name that is no setting, or a value that breaks a rule.
        """
        ...
