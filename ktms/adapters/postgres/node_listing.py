"""All nodes as an operator sees them: declared, joined or both; tokens are never opened for it."""

from collections.abc import Mapping, Sequence

import asyncpg

from ktms.adapters.postgres.node_rows import announcement_of, permit_of
from ktms.adapters.postgres.specs import decode
from ktms.domain.catalogue import NodeSpec
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import KnownNode

_KEYS = """
select node_key.id as node_key_id, node_key.key_id, node_key.name, node_key.models, node_key.region,
    node_key.enabled, said.id, said.epoch_ms, said.spec,
    extract(epoch from said.heard_at)::float8 as heard_at,
    extract(epoch from now() - said.heard_at)::float8 as heard_ago_s
from node_key left join node_announcement as said on said.node_key_id = node_key.id
where node_key.revoked_at is null order by node_key.created_at, node_key.id
"""


async def read_known(connection: asyncpg.Connection) -> Sequence[KnownNode]:
    """Read all nodes: declared ones in the order of the file, then those that only joined, oldest first."""
    declared = {
        row["name"]: decode(NodeSpec, row["spec"], name=row["name"])
        for row in await connection.fetch("select name, spec from node order by position, name")
    }
    keys = {row["name"]: row for row in await connection.fetch(_KEYS)}
    names = (*declared, *(name for name in keys if name not in declared))
    return [_known(name, declared, keys) for name in names]


def _known(name: str, declared: Mapping[str, NodeSpec], keys: Mapping[str, asyncpg.Record]) -> KnownNode:
    row = keys.get(name)
    if row is None:
        return KnownNode(name, declared.get(name))
    return KnownNode(
        name=name,
        declared=declared.get(name),
        key_id=KeyId(row["key_id"]),
        permit=permit_of(row),
        announcement=announcement_of(row, None),
        heard_at=row["heard_at"],
        heard_ago_s=row["heard_ago_s"],
    )
