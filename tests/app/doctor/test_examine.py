"""All looks together, on real servers: which are taken, in which order, and where one ends the next."""

from pathlib import Path

import asyncpg
import pytest

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.pool import Database
from ktms.adapters.system.clock import SystemClock
from ktms.app.doctor.examine import examine
from ktms.app.doctor.finding import Verdict
from ktms.config.address import Address
from ktms.config.settings import Settings
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ModelSpec, TargetSpec, VendorKind, VendorSpec
from ktms.ports.entropy import Entropy

FILES = 65536
ANY_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
STORED = Catalogue(
    vendors=(VendorSpec("cloud", VendorKind.OPENAI, "https://api.example.com/v1", keys=(Secret("canary-x"),)),),
    models=(ModelSpec("m", (TargetSpec("cloud", "mini"),)),),
)


async def told(settings: Settings) -> list[tuple[Verdict, str, str]]:
    found = [each async for each in examine(settings, SystemClock(), FILES)]
    return [(each.verdict, each.subject, each.text) for each in found]


def subjects(findings: list[tuple[Verdict, str, str]]) -> list[str]:
    return [subject for _, subject, _ in findings][4:]  # those before are the environment's and Redis'


@pytest.fixture
def settings(postgres_dsn: str) -> Settings:
    """With a keyring that is not that of the other fixtures."""
    keys = Secret(f"new:{ANY_KEY}")
    return Settings(database_url=Secret(postgres_dsn), encryption_keys=keys, snapshot_file=Path("snapshot"))


@pytest.fixture
async def stored(database: Database, keyring_secrets: KeyringSecrets, entropy: Entropy) -> None:
    store = PostgresConfigStore(database, keyring_secrets, entropy, MemoryTelemetry())
    await store.apply(STORED, actor=Actor("tester", Role.OWNER), prune=False, dry_run=False)


async def test_without_a_database_the_rest_is_looked_at() -> None:
    assert [subject for _, subject, _ in await told(Settings())][-1] == "redis"


async def test_a_fresh_database_is_looked_at_to_the_end(settings: Settings) -> None:
    assert subjects(await told(settings)) == [
        "postgres",
        "clock of postgres",
        "schema",
        "ledger",
        "administration",
        "keyring",
        "catalogue",
    ]


async def test_a_database_that_is_away_ends_what_needs_it(postgres_server: EmbeddedPostgres) -> None:
    away = Settings(database_url=Secret(postgres_server.dsn_of("nowhere")), ledger_addr=Address("127.0.0.1", 1))
    findings = (await told(away))[-2:]
    assert [(verdict, subject) for verdict, subject, _ in findings] == [
        (Verdict.ERROR, "postgres"),
        (Verdict.ERROR, "ledger"),
    ]


async def test_an_empty_database_ends_with_its_schema(bare_dsn: str) -> None:
    assert subjects(await told(Settings(database_url=Secret(bare_dsn))))[-1] == "schema"


async def test_without_a_keyring_what_is_encrypted_is_not_looked_at(postgres_dsn: str) -> None:
    assert subjects(await told(Settings(database_url=Secret(postgres_dsn))))[-1] == "administration"


@pytest.mark.usefixtures("stored")
async def test_a_keyring_of_another_installation_ends_it(settings: Settings) -> None:
    assert subjects(await told(settings))[-1] == "keyring"


@pytest.mark.usefixtures("stored")
async def test_what_is_stored_is_judged(settings: Settings, keyring_text: Secret) -> None:
    findings = await told(Settings(database_url=settings.database_url, encryption_keys=keyring_text))
    assert findings[-1] == (
        Verdict.WARNING,
        "catalogue",
        "model m: target cloud/mini has no price, its use costs 0",
    )


@pytest.mark.usefixtures("stored")
async def test_a_secret_that_cannot_be_opened_is_an_error_that_names_its_owner(
    settings: Settings, keyring_text: Secret
) -> None:
    assert settings.database_url is not None
    connection = await asyncpg.connect(settings.database_url.reveal())
    await connection.execute("update vendor_key set secret = set_byte(secret, 60, 255 - get_byte(secret, 60))")
    await connection.close()
    findings = await told(Settings(database_url=settings.database_url, encryption_keys=keyring_text))
    assert (Verdict.ERROR, "catalogue", "a secret of cloud cannot be decrypted") in findings


@pytest.mark.usefixtures("stored")
async def test_a_catalogue_that_cannot_be_read_is_an_error_per_complaint(
    settings: Settings, keyring_text: Secret
) -> None:
    assert settings.database_url is not None
    connection = await asyncpg.connect(settings.database_url.reveal())
    await connection.execute("update model set spec = '{\"targets\": 1}'")
    await connection.close()
    findings = await told(Settings(database_url=settings.database_url, encryption_keys=keyring_text))
    assert [(verdict, subject) for verdict, subject, _ in findings][-1] == (Verdict.ERROR, "catalogue")
