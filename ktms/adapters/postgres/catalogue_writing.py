"""Writing the merged catalogue into its tables: one statement per table, untouched rows stay untouched.

Runs inside the transaction of `config_store`. Not here: secrets (`secret_writing.py`), client keys
(`key_writing.py`), how prices lie (`price_tables.py`), and deciding what is written.
"""

from collections.abc import Mapping, Sequence

import asyncpg

from ktms.adapters.postgres.price_tables import save_prices
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.specs import encode
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ChainSpec,
    ModelSpec,
    NodeSpec,
    TenantSpec,
    VendorSpec,
)
from ktms.ports.entropy import Entropy

Named = VendorSpec | ModelSpec | ChainSpec | NodeSpec | TenantSpec

_SAVE_VENDORS = """
insert into vendor (id, name, spec, position)
select id, name, spec::jsonb, position
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as listed (id, name, spec, position)
on conflict (name) do update set spec = excluded.spec, position = excluded.position
where (vendor.spec, vendor.position) is distinct from (excluded.spec, excluded.position)
"""

_SAVE_NODES = """
insert into node (id, name, spec, position)
select id, name, spec::jsonb, position
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as listed (id, name, spec, position)
on conflict (name) do update set spec = excluded.spec, position = excluded.position
where (node.spec, node.position) is distinct from (excluded.spec, excluded.position)
"""

_SAVE_MODELS = """
insert into model (id, name, spec, position)
select id, name, spec::jsonb, position
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as listed (id, name, spec, position)
on conflict (name) do update set spec = excluded.spec, position = excluded.position
where (model.spec, model.position) is distinct from (excluded.spec, excluded.position)
"""

_SAVE_CHAINS = """
insert into chain (id, name, spec, position)
select id, name, spec::jsonb, position
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as listed (id, name, spec, position)
on conflict (name) do update set spec = excluded.spec, position = excluded.position
where (chain.spec, chain.position) is distinct from (excluded.spec, excluded.position)
"""

_SAVE_TENANTS = """
insert into tenant (id, name, spec, position)
select id, name, spec::jsonb, position
from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as listed (id, name, spec, position)
on conflict (name) do update set spec = excluded.spec, position = excluded.position, removed_at = null
where (tenant.spec, tenant.position) is distinct from (excluded.spec, excluded.position)
or tenant.removed_at is not null
"""


async def save_catalogue(connection: asyncpg.Connection, entropy: Entropy, merged: Catalogue) -> None:
    """Make every table but the keys' hold exactly what is merged; removed tenants are kept for the accounting."""
    await _save(connection, _SAVE_TENANTS, entropy, merged.tenants)
    await _save(connection, _SAVE_VENDORS, entropy, merged.vendors)
    await _save(connection, _SAVE_NODES, entropy, merged.nodes)
    await _save(connection, _SAVE_MODELS, entropy, merged.models)
    await _save(connection, _SAVE_CHAINS, entropy, merged.chains)
    await save_prices(connection, entropy, merged.prices)
    await connection.execute("update policy set spec = $1::jsonb where id = 1", encode(merged.policy))
    await _remove_others(connection, merged)


async def _save(
    connection: asyncpg.Connection, statement: str, entropy: Entropy, entries: Sequence[Named]
) -> None:
    await connection.execute(
        statement,
        [new_row_id(entropy) for _ in entries],
        [entry.name for entry in entries],
        [encode(entry) for entry in entries],
    )


async def _remove_others(connection: asyncpg.Connection, merged: Catalogue) -> None:
    kept: Mapping[str, Sequence[Named]] = {
        "delete from vendor where name <> all($1)": merged.vendors,
        "delete from node where name <> all($1)": merged.nodes,
        "delete from model where name <> all($1)": merged.models,
        "delete from chain where name <> all($1)": merged.chains,
    }
    for statement, entries in kept.items():
        await connection.execute(statement, [entry.name for entry in entries])
    await connection.execute(
        "update tenant set removed_at = now() where removed_at is null and name <> all($1)",
        [DEFAULT_TENANT, *(tenant.name for tenant in merged.tenants)],
    )
