"""What only the real store does: sealing, the audit, applies that meet. The rest is in tests/contracts."""

import asyncio
import json
from dataclasses import replace

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec, ModelSpec, TargetSpec
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.ports.entropy import Entropy

FLIP_SECRET = """
update vendor_key set secret = overlay(secret placing '\\x00' from octet_length(secret)) where position = 0
"""


async def dump_of(sql: asyncpg.Connection) -> str:
    """All rows of all tables; bytes show their readable characters."""
    tables = await sql.fetch("select table_name from information_schema.tables where table_schema = 'public'")
    rows = [await sql.fetch(f"select * from {row['table_name']}") for row in tables]  # noqa: S608  # names of ours
    return repr(rows)


@pytest.fixture
def catalogue_store(
    database: Database, keyring_secrets: KeyringSecrets, telemetry: MemoryTelemetry
) -> PostgresCatalogueStore:
    return PostgresCatalogueStore(database, keyring_secrets, telemetry)


async def test_no_table_holds_a_secret_in_plain_text(
    config_store: PostgresConfigStore,
    sealed_catalogue: Catalogue,
    actor: Actor,
    sql: asyncpg.Connection,
    entropy: Entropy,
) -> None:
    token = make_key(KeyKind.CLIENT, entropy.token_bytes)
    keyed = replace(sealed_catalogue, client_keys=(ClientKeySpec("app", "default", secret=Secret(token)),))
    await config_store.apply(keyed, actor=actor, prune=False, dry_run=False)
    rotated = replace(sealed_catalogue.vendors[0], keys=(Secret("canary-vendor-key-three"),))
    await config_store.apply(replace(keyed, vendors=(rotated,)), actor=actor, prune=False, dry_run=False)
    dump = await dump_of(sql)
    assert "api.example.com" in dump
    assert "canary" not in dump
    assert token not in dump


async def test_listings_have_the_last_four_characters_only(
    config_store: PostgresConfigStore, sealed_catalogue: Catalogue, actor: Actor, sql: asyncpg.Connection
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    assert [row["last4"] for row in await sql.fetch("select last4 from vendor_key order by position")] == [
        "-one",
        "-two",
    ]
    assert await sql.fetchval("select token_last4 from node") == "oken"


async def test_an_apply_leaves_one_audit_row_with_before_and_after(
    config_store: PostgresConfigStore, sealed_catalogue: Catalogue, actor: Actor, sql: asyncpg.Connection
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    moved = replace(sealed_catalogue.vendors[0], region="fr", keys=(Secret("canary-vendor-key-three"),))
    await config_store.apply(replace(sealed_catalogue, vendors=(moved,)), actor=actor, prune=False, dry_run=False)
    _, row = await sql.fetch("select actor, role, action, version, details from audit order by version")
    assert (row["actor"], row["role"], row["action"], row["version"]) == ("tester", "owner", "apply", 2)
    (change,) = json.loads(row["details"])["changes"]
    assert (change["name"], set(change["fields"])) == ("openai", {"region", "keys"})
    assert (change["before"], change["after"]) == ({"region": None}, {"region": "fr"})


async def test_nothing_changed_leaves_no_audit_row(
    config_store: PostgresConfigStore, sealed_catalogue: Catalogue, actor: Actor, sql: asyncpg.Connection
) -> None:
    for _ in range(2):
        await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    await config_store.apply(Catalogue(), actor=actor, prune=True, dry_run=True)
    assert await sql.fetchval("select count(*) from audit") == 1


async def test_key_changes_are_audited_without_the_token(
    database: Database, entropy: Entropy, actor: Actor, sql: asyncpg.Connection
) -> None:
    admin = PostgresKeyAdmin(database, entropy)
    key, token = await admin.create(ClientKeySpec("app", "default"), actor=actor)
    await admin.revoke(key.id, actor=actor)
    await admin.revoke(key.id, actor=actor)
    await admin.bootstrap(make_key(KeyKind.ADMIN, entropy.token_bytes))
    rows = await sql.fetch("select action, subject, details from audit order by at")
    assert [(row["action"], row["subject"]) for row in rows] == [
        ("create_key", "client_key app"),
        ("revoke_key", "client_key app"),
        ("bootstrap", "admin_key bootstrap"),
    ]
    assert token not in str([row["details"] for row in rows])


async def test_applies_that_meet_follow_each_other(
    config_store: PostgresConfigStore, actor: Actor, sql: asyncpg.Connection
) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(8):
            wanted = Catalogue(models=(ModelSpec(f"m{number}", (TargetSpec("local", "x"),)),))
            group.create_task(config_store.apply(wanted, actor=actor, prune=False, dry_run=False))
    assert await sql.fetchval("select version from catalogue_version") == 8
    assert [row["version"] for row in await sql.fetch("select version from audit order by version")] == list(
        range(1, 9)
    )
    assert len((await config_store.export()).models) == 8


async def test_an_apply_and_a_key_rotation_wait_for_each_other(
    config_store: PostgresConfigStore, sealed_catalogue: Catalogue, actor: Actor, sql: asyncpg.Connection
) -> None:
    rotation = sql.transaction()
    await rotation.start()
    await sql.execute("select primary_id from encryption_state where id = 1 for update")
    async with asyncio.TaskGroup() as group:
        applying = group.create_task(config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False))
        blocked = (
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        async with asyncio.timeout(5):
            while await sql.fetchval(blocked) == 0:  # each look is a round trip
                assert not applying.done()
        await rotation.commit()
    assert applying.result().version == 1


@pytest.mark.parametrize(
    ("damage", "vendor_keys", "token"),
    [
        (FLIP_SECRET, 1, True),
        ("update node set token = overlay(token placing '\\x00' from octet_length(token))", 2, False),
        ("update vendor_key set secret = (select secret from vendor_key where position = 1)", 1, True),
        ("update vendor_key set id = gen_random_uuid()", 0, True),
    ],
    ids=["flipped vendor key", "flipped token", "swapped vendor keys", "moved rows"],
)
async def test_a_secret_that_cannot_be_opened_is_left_out_and_told_and_the_rest_works(
    damage: str,
    vendor_keys: int,
    token: bool,
    config_store: PostgresConfigStore,
    catalogue_store: PostgresCatalogueStore,
    sealed_catalogue: Catalogue,
    telemetry: MemoryTelemetry,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    await sql.execute(damage)
    snapshot = await catalogue_store.snapshot()
    assert len(snapshot.vendors[0].keys) == vendor_keys
    assert (snapshot.nodes[0].token is not None) is token
    told = [event for event in telemetry.events if event.name == "secret_undecryptable"]
    assert len(told) == 3 - vendor_keys - token
    assert {event.level for event in told} == {"error"}
    assert "canary" not in repr(told)


async def test_giving_a_damaged_secret_again_mends_it(
    config_store: PostgresConfigStore,
    catalogue_store: PostgresCatalogueStore,
    sealed_catalogue: Catalogue,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    await sql.execute("update vendor_key set id = gen_random_uuid()")
    await sql.execute("update node set token = overlay(token placing '\\x00' from octet_length(token))")
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    snapshot = await catalogue_store.snapshot()
    assert [key.secret for key in snapshot.vendors[0].keys] == list(sealed_catalogue.vendors[0].keys)
    assert snapshot.nodes[0].token == sealed_catalogue.nodes[0].token
    assert await sql.fetchval("select count(*) from vendor_key") == 2


async def test_a_client_key_of_a_model_that_is_gone_does_not_stop_the_snapshot(
    database: Database,
    entropy: Entropy,
    catalogue_store: PostgresCatalogueStore,
    config_store: PostgresConfigStore,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    wanted = Catalogue(models=(ModelSpec("m", (TargetSpec("local", "x"),)),))
    await config_store.apply(wanted, actor=actor, prune=False, dry_run=False)
    await PostgresKeyAdmin(database, entropy).create(ClientKeySpec("app", "default", models=("m",)), actor=actor)
    await sql.execute("delete from model")
    assert (await catalogue_store.snapshot()).models == ()


async def test_a_stored_entry_nobody_can_read_is_told_as_an_invalid_catalogue(
    config_store: PostgresConfigStore,
    catalogue_store: PostgresCatalogueStore,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    wanted = Catalogue(models=(ModelSpec("m", (TargetSpec("local", "x"),)),))
    await config_store.apply(wanted, actor=actor, prune=False, dry_run=False)
    await sql.execute("""update model set spec = '{"targets": "none"}'""")
    with pytest.raises(CatalogueInvalid, match=r"models\.m: what is stored cannot be read"):
        await catalogue_store.snapshot()


async def test_fields_a_newer_version_stored_are_ignored(
    config_store: PostgresConfigStore,
    catalogue_store: PostgresCatalogueStore,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    wanted = Catalogue(models=(ModelSpec("m", (TargetSpec("local", "x"),)),))
    await config_store.apply(wanted, actor=actor, prune=False, dry_run=False)
    await sql.execute("""update model set spec = spec || '{"from_the_future": 1}'""")
    assert [model.name for model in (await catalogue_store.snapshot()).models] == ["m"]
