"""The tables as an apply writes them, row by row; what an apply means is in tests/contracts."""

from dataclasses import replace
from decimal import Decimal
from uuid import UUID

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.catalogue_rows import Opener, StoredVendorKey, lock_catalogue, read_stored
from ktms.adapters.postgres.catalogue_writing import save_catalogue
from ktms.adapters.postgres.row_ids import new_row_id
from ktms.adapters.postgres.secret_writing import SecretWriter
from ktms.domain.access.actor import Actor
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ModelSpec, PriceSpec, TargetSpec, TenantSpec
from ktms.ports.entropy import Entropy

CATALOGUE = Catalogue(
    models=tuple(ModelSpec(name, (TargetSpec("local", "x"),)) for name in ("a", "b")),
    prices=(
        PriceSpec("local", "x", Decimal("0.1")),
        PriceSpec("local", "x", Decimal("0.3"), valid_from=100),
        PriceSpec("local", "y", Decimal("0.2")),
    ),
    tenants=(TenantSpec("team"),),
)


@pytest.fixture
async def saved(sql: asyncpg.Connection, entropy: Entropy, keyring_secrets: KeyringSecrets) -> asyncpg.Connection:
    await sql.execute(
        "insert into encryption_key (id, check_value) values ('new', $1)", keyring_secrets.check_value("new")
    )
    await sql.execute("insert into encryption_state (id, primary_id, epoch) values (1, 'new', 1)")
    await save_catalogue(sql, entropy, CATALOGUE)
    return sql


async def written_by(sql: asyncpg.Connection, table: str) -> dict[str, str]:
    """Which transaction wrote each row last."""
    name = "model" if "price" in table else "name"
    rows = await sql.fetch(f"select {name} as name, xmin::text as writer from {table}")  # noqa: S608  # constants
    return {row["name"]: row["writer"] for row in rows}


async def test_rows_that_do_not_change_are_not_touched(saved: asyncpg.Connection, entropy: Entropy) -> None:
    tables = ("model", "price", "dated_price", "tenant")
    before = {table: await written_by(saved, table) for table in tables}
    changed = replace(CATALOGUE.models[1], context_window=4096)
    await save_catalogue(saved, entropy, replace(CATALOGUE, models=(CATALOGUE.models[0], changed)))
    after = {table: await written_by(saved, table) for table in tables}
    assert (after["price"], after["dated_price"]) == (before["price"], before["dated_price"])
    assert after["tenant"] == before["tenant"]
    assert {name for name in "ab" if after["model"][name] != before["model"][name]} == {"b"}


async def test_row_ids_stay_when_rows_change(saved: asyncpg.Connection, entropy: Entropy) -> None:
    before = await saved.fetch("select name, id from tenant order by name")
    await save_catalogue(saved, entropy, replace(CATALOGUE, tenants=(TenantSpec("team", Limits(rpm=1)),)))
    assert await saved.fetch("select name, id from tenant order by name") == before


async def test_a_removed_tenant_keeps_its_row_and_the_default_one_stays(
    saved: asyncpg.Connection, entropy: Entropy
) -> None:
    await save_catalogue(saved, entropy, replace(CATALOGUE, tenants=()))
    rows = await saved.fetch("select name, removed_at is null as here from tenant order by name")
    assert [tuple(row) for row in rows] == [("default", True), ("team", False)]


async def test_a_vendor_key_that_stays_keeps_its_row_in_its_new_place(
    saved: asyncpg.Connection, keyring_secrets: KeyringSecrets, entropy: Entropy
) -> None:
    vendor = new_row_id(entropy)
    await saved.execute("insert into vendor (id, name, spec, position) values ($1, 'v', '{}', 0)", vendor)
    writer = SecretWriter(saved, keyring_secrets, entropy, "new")
    await writer.replace_vendor_keys(vendor, [Secret("one"), Secret("two")], [])
    rows = await saved.fetch("select id, position from vendor_key order by position")
    stored = [StoredVendorKey(rows[0]["id"], Secret("one")), StoredVendorKey(rows[1]["id"], Secret("two"))]
    await writer.replace_vendor_keys(vendor, [Secret("three"), Secret("two")], stored)
    after = await saved.fetch("select id, position from vendor_key order by position")
    assert len(after) == 2
    assert tuple(after[1]) == (rows[1]["id"], 1)
    assert after[0]["id"] not in {row["id"] for row in rows}


async def test_without_an_opener_no_secret_is_read(
    saved: asyncpg.Connection, keyring_secrets: KeyringSecrets, entropy: Entropy, telemetry: MemoryTelemetry
) -> None:
    vendor = new_row_id(entropy)
    spec = '{"kind": "openai", "base_url": "https://api.example.com"}'
    await saved.execute("insert into vendor (id, name, spec, position) values ($1, 'v', $2, 0)", vendor, spec)
    await SecretWriter(saved, keyring_secrets, entropy, "new").replace_vendor_keys(vendor, [Secret("one")], [])
    assert (await read_stored(saved, None)).catalogue.vendors[0].keys == ()
    opened = await read_stored(saved, Opener(keyring_secrets, telemetry))
    assert opened.catalogue.vendors[0].keys == (Secret("one"),)
    assert list(opened.key_ids) == ["v"]


async def test_whoever_changes_the_catalogue_holds_it(postgres_dsn: str, sql: asyncpg.Connection) -> None:
    other = await asyncpg.connect(postgres_dsn)
    async with sql.transaction():
        assert await lock_catalogue(sql) == 0
        with pytest.raises(asyncpg.LockNotAvailableError):
            await other.execute("select version from catalogue_version where id = 1 for update nowait")
    assert await lock_catalogue(other) == 0
    await other.close()


async def test_an_audit_row_goes_with_the_transaction_it_belongs_to(
    sql: asyncpg.Connection, entropy: Entropy, actor: Actor
) -> None:
    change = sql.transaction()
    await change.start()
    await write_audit(sql, entropy, actor, "apply", "catalogue", {"n": 1}, 7)
    await change.rollback()
    assert await sql.fetchval("select count(*) from audit") == 0
    await write_audit(sql, entropy, actor, "apply", "catalogue", {"n": 1}, 7)
    row = await sql.fetchrow("select actor, role, action, subject, version, details from audit")
    assert tuple(row) == ("tester", "owner", "apply", "catalogue", 7, '{"n": 1}')


def test_row_ids_are_random_uuids_that_differ(entropy: Entropy) -> None:
    first, second = new_row_id(entropy), new_row_id(entropy)
    assert isinstance(first, UUID)
    assert first.version == 4
    assert first != second
