"""Client and admin keys, as the admin plane manages them."""

from collections.abc import Sequence
from typing import Protocol

from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.client_key import AdminKey, ClientKey
from ktms.domain.catalogue import ClientKeySpec
from ktms.domain.ids import KeyId


class NameTaken(Exception):
    """A live key of this name exists already."""


class UnknownTenant(Exception):
    """The tenant named does not exist."""


class KeyAdmin(Protocol):
    """Creates, lists and revokes keys; each change is audited in the same transaction.

    All raise StoreAway (ports/catalogue.py) when the database does not answer.
    """

    async def create(self, spec: ClientKeySpec, *, actor: Actor) -> tuple[ClientKey, str]:
        """Store a new client key; the second value is its token, shown this once.

        Raises:
            NameTaken: a key of this name exists that is not revoked.
            UnknownTenant: `spec.tenant` does not exist.
        """
        ...

    async def list(self) -> Sequence[ClientKey]:
        """Give all client keys, oldest first, revoked ones included."""
        ...

    async def revoke(self, key_id: KeyId, *, actor: Actor) -> bool:
        """Revoke a client key for good; False when there is none; twice is harmless. All replicas are notified."""
        ...

    async def find_admin(self, key_id: KeyId) -> AdminKey | None:
        """Give a stored admin key by its public id."""
        ...

    async def bootstrap(self, token: str, *, role: Role = Role.OWNER) -> bool:
        """Store the first owner under `token` if there is no owner yet; False when there is one."""
        ...
