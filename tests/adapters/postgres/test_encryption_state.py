import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.encryption_state import KeyringMismatch, check_keyring, settle_keyring
from ktms.adapters.postgres.pool import Database, open_database
from ktms.adapters.postgres.sealed_columns import ROWS_PER_KEY, SEALED_COLUMNS
from ktms.domain.access.actor import Actor
from ktms.domain.access.keyring import Keyring
from ktms.domain.catalogue import Catalogue
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy
from ktms.ports.secrets import Place

OTHER_KEY = bytes(range(100, 132))


async def test_an_empty_database_adopts_the_first_key(
    database: Database, keyring_secrets: KeyringSecrets, sql: asyncpg.Connection
) -> None:
    assert await settle_keyring(database, keyring_secrets) == "new"
    assert await sql.fetchval("select primary_id from encryption_state") == "new"
    assert await sql.fetchval("select check_value from encryption_key") == keyring_secrets.check_value("new")


async def test_a_reordered_keyring_does_not_change_the_primary_key(
    database: Database, keyring: Keyring, entropy: Entropy
) -> None:
    turned = Keyring({"old": keyring.key("old"), "new": keyring.key("new")})
    assert await settle_keyring(database, KeyringSecrets(turned, entropy)) == "new"


async def test_another_key_under_a_known_id_is_refused(database: Database, entropy: Entropy) -> None:
    wrong = KeyringSecrets(Keyring({"new": OTHER_KEY}), entropy)
    with pytest.raises(KeyringMismatch, match="the key new of the keyring is not the key of that id"):
        await settle_keyring(database, wrong)


async def test_a_keyring_without_the_primary_key_is_refused(
    database: Database, keyring: Keyring, entropy: Entropy
) -> None:
    without = KeyringSecrets(Keyring({"old": keyring.key("old")}), entropy)
    with pytest.raises(KeyringMismatch, match=r"encrypted under the key new, which is not in the keyring \(old\)"):
        await settle_keyring(database, without)


async def test_a_key_removed_too_early_is_refused_with_counts(
    database: Database,
    config_store: PostgresConfigStore,
    sealed_catalogue: Catalogue,
    keyring: Keyring,
    entropy: Entropy,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    await sql.execute("insert into encryption_key (id, check_value) values ('next', '\\x0102030405060708')")
    await sql.execute("update encryption_state set primary_id = 'next'")
    later = KeyringSecrets(Keyring({"next": OTHER_KEY}), entropy)
    await sql.execute("update encryption_key set check_value = $1 where id = 'next'", later.check_value("next"))
    with pytest.raises(
        KeyringMismatch, match=r"1 rows of node under new, 2 rows of vendor_key under new; put them"
    ):
        await settle_keyring(database, later)
    back = KeyringSecrets(Keyring({"next": OTHER_KEY, "new": keyring.key("new")}), entropy)
    assert await settle_keyring(database, back) == "next"


async def test_a_replica_that_lacks_the_primary_key_writes_nothing(
    database: Database,
    config_store: PostgresConfigStore,
    sealed_catalogue: Catalogue,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await sql.execute("insert into encryption_key (id, check_value) values ('next', '\\x0102030405060708')")
    await sql.execute("update encryption_state set primary_id = 'next'")
    with pytest.raises(StoreAway, match="lacks the key next"):
        await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    assert await sql.fetchval("select count(*) from vendor") == 0


async def test_every_column_of_ciphertext_in_the_database_is_registered(sql: asyncpg.Connection) -> None:
    found = await sql.fetch(
        "select table_name, column_name from information_schema.columns "
        "where domain_name in ('ktms_ciphertext', 'ktms_sealed_answer')"
    )
    assert {tuple(row) for row in found} == set(SEALED_COLUMNS)
    assert all(table in ROWS_PER_KEY for table, _ in SEALED_COLUMNS)


async def test_the_database_refuses_ciphertext_under_another_key_than_the_primary(
    config_store: PostgresConfigStore,
    sealed_catalogue: Catalogue,
    keyring_secrets: KeyringSecrets,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    await sql.execute("insert into encryption_key (id, check_value) values ('old', '\\x0102030405060708')")
    for table, column, key_column in (("vendor_key", "secret", "key_id"), ("node", "token", "token_key_id")):
        sealed = keyring_secrets.seal(b"x", any_place(), "old")
        with pytest.raises(
            asyncpg.PostgresError, match='ciphertext under key "old", but the primary key is "new"'
        ) as told:
            await sql.execute(f"update {table} set {column} = $1, {key_column} = 'old'", sealed)  # noqa: S608  # ours
        assert told.value.sqlstate == "KT001"


async def test_the_database_refuses_a_key_id_that_is_not_the_headers(
    config_store: PostgresConfigStore,
    sealed_catalogue: Catalogue,
    keyring_secrets: KeyringSecrets,
    actor: Actor,
    sql: asyncpg.Connection,
) -> None:
    await config_store.apply(sealed_catalogue, actor=actor, prune=False, dry_run=False)
    sealed = keyring_secrets.seal(b"x", any_place(), "old")
    with pytest.raises(asyncpg.CheckViolationError, match="vendor_key_key_id_is_header"):
        await sql.execute("update vendor_key set secret = $1", sealed)


def any_place() -> Place:
    from_row = "0b0d1f2e-0000-4000-8000-000000000001"
    return Place("vendor_key", "secret", from_row, from_row)


async def test_a_check_adopts_nothing(postgres_dsn: str, keyring_secrets: KeyringSecrets) -> None:
    async with open_database(postgres_dsn) as fresh:
        assert await check_keyring(fresh, keyring_secrets) is None
        assert await check_keyring(fresh, keyring_secrets) is None


async def test_a_check_gives_the_primary_key(database: Database, keyring_secrets: KeyringSecrets) -> None:
    assert await check_keyring(database, keyring_secrets) == "new"


async def test_a_check_refuses_what_a_start_would_refuse(database: Database, entropy: Entropy) -> None:
    with pytest.raises(KeyringMismatch):
        await check_keyring(database, KeyringSecrets(Keyring({"new": OTHER_KEY}), entropy))
