"""The audit: one row per change, written in the transaction that makes it: never one without the other.

Details are plain values from which secrets were left out before they came here (`specs.plain`).
"""

from collections.abc import Mapping

import asyncpg
import msgspec

from ktms.adapters.postgres.row_ids import new_row_id
from ktms.domain.access.actor import Actor
from ktms.ports.entropy import Entropy


async def write_audit(
    connection: asyncpg.Connection,
    entropy: Entropy,
    actor: Actor,
    action: str,
    subject: str,
    details: Mapping[str, object],
    version: int | None = None,
) -> None:
    """Record who did what to which subject; `version` is the catalogue's after it, if it changed."""
    await connection.execute(
        "insert into audit (id, actor, role, action, subject, version, details) "
        "values ($1, $2, $3, $4, $5, $6, $7::jsonb)",
        new_row_id(entropy),
        actor.name,
        actor.role.value,
        action,
        subject,
        version,
        msgspec.json.encode(details).decode(),
    )
