from dataclasses import replace

import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.pool import Database, open_database
from ktms.adapters.system.clock import SystemClock
from ktms.app.doctor.database import keyring_finding, owner_finding, schema_finding, server_findings
from ktms.app.doctor.finding import Finding, Verdict
from ktms.config.address import Address
from ktms.config.settings import Settings
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy

KEY = Secret("ktms_adm_x")


async def server(dsn: str, settings: Settings | None = None, clock: Clock | None = None) -> list[Finding]:
    settings = settings or Settings(database_url=Secret(dsn))
    async with open_database(dsn, connections_max=1) as database:
        return [each async for each in server_findings(settings, database, clock or SystemClock())]


async def test_a_server_that_answers_is_fine_with_its_version(bare_dsn: str) -> None:
    first, second = await server(bare_dsn)
    assert (first.verdict, second.verdict) == (Verdict.OK, Verdict.OK)
    assert "200 connections, a replica takes 25 at most" in first.text


async def test_a_server_that_is_away_is_one_error_that_names_the_setting() -> None:
    [finding] = await server("postgresql://u:canary@127.0.0.1:1/x")
    assert (finding.verdict, finding.text) == (Verdict.ERROR, "it does not answer: nobody listens there")
    assert finding.remedy == "mend KTMS_DATABASE_URL or the server"


async def test_a_clock_that_is_off_is_a_warning(bare_dsn: str) -> None:
    assert [each.verdict for each in await server(bare_dsn, clock=ManualClock())] == [Verdict.OK, Verdict.WARNING]


async def test_plain_text_to_another_machine_is_a_warning(bare_dsn: str) -> None:
    far = Settings(database_url=Secret("postgresql://u@db.example.com/x"))
    findings = await server(bare_dsn, far)
    assert (findings[1].verdict, "sslmode" in findings[1].remedy) == (Verdict.WARNING, True)


async def test_a_replica_that_may_take_every_connection_is_a_warning(bare_dsn: str) -> None:
    settings = replace(Settings(database_url=Secret(bare_dsn)), database_pool_max=200)
    assert (await server(bare_dsn, settings))[0].verdict is Verdict.WARNING


async def test_a_database_that_is_read_only_is_an_error(bare_dsn: str) -> None:
    first, *_ = await server(f"{bare_dsn}?default_transaction_read_only=on")
    assert (first.verdict, "read-only" in first.text) == (Verdict.ERROR, True)


async def test_a_schema_that_is_up_to_date_is_fine(postgres_dsn: str) -> None:
    assert (await schema_finding(Settings(), Secret(postgres_dsn))).verdict is Verdict.OK


async def test_what_is_missing_of_the_schema_is_counted(bare_dsn: str) -> None:
    alone = await schema_finding(Settings(), Secret(bare_dsn))
    beside = await schema_finding(Settings(ledger_addr=Address("127.0.0.1", 1)), Secret(bare_dsn))
    assert alone.verdict is beside.verdict is Verdict.WARNING
    assert int(alone.text.split()[0]) > int(beside.text.split()[0])


@pytest.mark.parametrize("name", ["KTMS_DATABASE_URL", "KTMS_DATABASE_DIRECT_URL"])
async def test_a_schema_that_cannot_be_read_names_the_setting(name: str) -> None:
    away = Secret("postgresql://u@127.0.0.1:1/x")
    settings = Settings(database_direct_url=away if name.endswith("DIRECT_URL") else None)
    finding = await schema_finding(settings, away)
    assert (finding.verdict, f"mend {name} or" in finding.remedy) == (Verdict.ERROR, True)


async def test_a_schema_of_another_release_is_an_error(database: Database, postgres_dsn: str) -> None:
    async with database.session("test") as connection:
        before = await connection.fetchval("select sha256 from ktms_migration where number = 1")
        await connection.execute("update ktms_migration set sha256 = 'x' where number = 1")
        try:
            finding = await schema_finding(Settings(), Secret(postgres_dsn))
        finally:
            await connection.execute("update ktms_migration set sha256 = $1 where number = 1", before)
    assert (finding.verdict, "another content" in finding.text) == (Verdict.ERROR, True)


async def test_a_keyring_that_fits_is_fine(database: Database, keyring_secrets: KeyringSecrets) -> None:
    finding = await keyring_finding(database, keyring_secrets)
    assert (finding.verdict, finding.text.endswith("under the key new")) == (Verdict.OK, True)


async def test_a_database_that_has_no_key_yet_is_not_given_one(
    postgres_dsn: str, keyring_secrets: KeyringSecrets
) -> None:
    async with open_database(postgres_dsn) as fresh:
        first, second = [await keyring_finding(fresh, keyring_secrets) for _ in range(2)]
    assert first == second
    assert "the first start takes the key new" in first.text


async def test_a_keyring_that_lacks_the_key_is_an_error(
    database: Database, keyring: Keyring, entropy: Entropy
) -> None:
    without = KeyringSecrets(Keyring({"old": keyring.key("old")}), entropy)
    assert (await keyring_finding(database, without)).verdict is Verdict.ERROR


async def test_nobody_who_may_administer_is_an_error(database: Database) -> None:
    assert (await owner_finding(Settings(), database)).verdict is Verdict.ERROR


async def test_the_first_owner_to_come_is_fine(database: Database) -> None:
    finding = await owner_finding(Settings(bootstrap_admin_key=KEY), database)
    assert (finding.verdict, finding.text) == (Verdict.OK, "the next start makes the first owner")


@pytest.mark.parametrize(("bootstrap", "verdict"), [(None, Verdict.OK), (KEY, Verdict.WARNING)])
async def test_the_key_of_a_first_owner_who_is_there_should_be_gone(
    database: Database, entropy: Entropy, bootstrap: Secret | None, verdict: Verdict
) -> None:
    await PostgresKeyAdmin(database, entropy).bootstrap(make_key(KeyKind.ADMIN, entropy.token_bytes))
    assert (await owner_finding(Settings(bootstrap_admin_key=bootstrap), database)).verdict is verdict
