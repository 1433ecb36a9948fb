"""Writing vendors' keys and nodes' tokens, sealed under the primary key that the transaction holds."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.catalogue_rows import StoredVendorKey
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.sealed_columns import node_token_place, vendor_key_place
from ktms.domain.access.secret import Secret
from ktms.ports.entropy import Entropy
from ktms.ports.secrets import Secrets


class SecretWriter:
    """Seals what it writes."""

    def __init__(
        self, connection: asyncpg.Connection, secrets: Secrets, entropy: Entropy, primary_key_id: str
    ) -> None:
        self._connection = connection
        self._secrets = secrets
        self._entropy = entropy
        self._primary_key_id = primary_key_id

    async def replace_vendor_keys(
        self, vendor: UUID, wanted: Sequence[Secret], stored: Sequence[StoredVendorKey]
    ) -> None:
        """Make the vendor's keys exactly these, in this order; one that stays keeps its id and so its history."""
        left = list(stored)
        kept: list[UUID] = []
        for position, secret in enumerate(wanted):
            same = next((key for key in left if key.secret == secret), None)
            if same is None:
                kept.append(await self._add_vendor_key(vendor, secret, position))
            else:
                left.remove(same)
                kept.append(same.id)
                await self._connection.execute(
                    "update vendor_key set position = $2 where id = $1", same.id, position
                )
        await self._connection.execute(
            "delete from vendor_key where vendor_id = $1 and id <> all($2)", vendor, kept
        )

    async def _add_vendor_key(self, vendor: UUID, secret: Secret, position: int) -> UUID:
        row = new_row_id(self._entropy)
        await self._connection.execute(
            "insert into vendor_key (id, vendor_id, key_id, secret, last4, position) "
            "values ($1, $2, $3, $4, $5, $6)",
            row,
            vendor,
            self._primary_key_id,
            self._secrets.seal(
                secret.reveal().encode(), vendor_key_place(str(row), str(vendor)), self._primary_key_id
            ),
            secret.last4,
            position,
        )
        return row

    async def replace_node_token(self, node: UUID, token: Secret) -> None:
        """Store a node's token."""
        await self._connection.execute(
            "update node set token = $2, token_key_id = $3, token_last4 = $4 where id = $1",
            node,
            self._secrets.seal(token.reveal().encode(), node_token_place(str(node)), self._primary_key_id),
            self._primary_key_id,
            token.last4,
        )
