"""Who may call what on the admin plane: one table, and how a caller proves who it is.

A method that is not in the table is never served. One text for every bad key: it tells nothing about what exists.
Not here: what the methods do (`service.py`).
"""

from collections.abc import Sequence

from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, KeyText, read_key, same_digest
from ktms.ports.key_admin import KeyAdmin

ROLE_NEEDED = {
    "ApplyConfig": Role.OWNER,
    "ExportConfig": Role.VIEWER,
    "CreateClientKey": Role.OPERATOR,
    "ListClientKeys": Role.VIEWER,
    "RevokeClientKey": Role.OPERATOR,
    "GetVersion": Role.VIEWER,
    "IssueNodeKey": Role.OPERATOR,
    "RevokeNodeKey": Role.OPERATOR,
    "ListNodes": Role.VIEWER,
    "SetNodeEnabled": Role.OPERATOR,
    "GetPolicy": Role.VIEWER,
    "SetPolicy": Role.OPERATOR,
    "ListModels": Role.VIEWER,
    "ListChains": Role.VIEWER,
    "GetFleet": Role.VIEWER,
    "GetUsage": Role.VIEWER,
    "ListBatches": Role.VIEWER,
    "GetBatch": Role.VIEWER,
    "CancelBatch": Role.OPERATOR,
}

NO_VALID_KEY = "no valid admin key: send the metadata `authorization: Bearer ktms_adm_…`"

Metadata = Sequence[tuple[str, str | bytes]]


async def authenticate(metadata: Metadata, keys: KeyAdmin) -> Actor | None:
    """Find out who calls; None for a missing, malformed, unknown or revoked key.

    Raises:
        StoreAway: the key could not be looked up.
    """
    shown = _key_shown(metadata)
    if shown is None:
        return None
    stored = await keys.find_admin(shown.id)
    if stored is None or stored.revoked or not same_digest(stored.digest, shown.digest):
        return None
    return Actor(stored.name, Role(stored.role))


def _key_shown(metadata: Metadata) -> KeyText | None:
    """Read the one admin key; typing errors end here, without a look-up."""
    values = [value for name, value in metadata if name == "authorization"]
    if len(values) != 1 or not isinstance(values[0], str):
        return None
    scheme, _, text = values[0].partition(" ")
    key = read_key(text.strip()) if scheme.lower() == "bearer" else None
    return key if key is not None and key.kind is KeyKind.ADMIN else None
