"""Nodes that joined, between rows and values.

A row that cannot be read, or whose token cannot be opened, stands for a node that was not heard: its agent says it
all again within half a minute, and then it is stored anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import asyncpg
import msgspec

from ktms.adapters.postgres.catalogue_rows import Opener
from ktms.adapters.postgres.sealed_columns import announced_token_place
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import Announcement
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import JoinedNode, NodeKey, NodePermit

_JOINED = """
select node_key.id as node_key_id, node_key.name, node_key.models, node_key.region, node_key.enabled,
    said.id, said.epoch_ms, said.spec, said.token
from node_key join node_announcement as said on said.node_key_id = node_key.id
where node_key.revoked_at is null order by node_key.created_at, node_key.id
"""

_FIND = """
select key_id, digest, name, models, region, enabled, said.epoch_ms
from node_key left join node_announcement as said on said.node_key_id = node_key.id
where key_id = $1 and revoked_at is null
"""


async def read_joined(connection: asyncpg.Connection, opener: Opener) -> Sequence[JoinedNode]:
    """Read the nodes that were heard, oldest key first."""
    found = [(permit_of(row), announcement_of(row, opener)) for row in await connection.fetch(_JOINED)]
    return [JoinedNode(permit, said) for permit, said in found if said is not None]


async def find_node_key(connection: asyncpg.Connection, key_id: KeyId) -> NodeKey | None:
    """Read one live key."""
    row = await connection.fetchrow(_FIND, key_id)
    return None if row is None else NodeKey(KeyId(row["key_id"]), row["digest"], permit_of(row), row["epoch_ms"])


def permit_of(row: asyncpg.Record) -> NodePermit:
    """Read what a key permits."""
    return NodePermit(row["name"], tuple(row["models"]), row["region"], row["enabled"])


def announcement_of(row: asyncpg.Record, opener: Opener | None) -> Announcement | None:
    """Read an announcement, None where there is none or it cannot be read.

    Without an opener its token is absent.
    """
    if row["spec"] is None:
        return None
    token: Secret | None = None
    if opener is not None:
        place = announced_token_place(str(row["id"]), str(row["node_key_id"]))
        token = opener.open(row["token"], place, row["name"])
        if token is None:
            return None
    try:
        values = msgspec.json.decode(row["spec"], type=dict[str, object])
        said = msgspec.convert({**values, "token": None, "epoch_ms": row["epoch_ms"]}, Announcement, strict=False)
    except msgspec.ValidationError:
        return None
    return replace(said, token=token)


def announcement_spec(said: Announcement) -> str:
    """Give what the `spec` column holds: all but what has a column, and the token."""
    plain: Mapping[str, object] = msgspec.to_builtins(replace(said, token=None))
    return msgspec.json.encode(
        {name: value for name, value in plain.items() if name not in {"token", "epoch_ms"}}
    ).decode()
