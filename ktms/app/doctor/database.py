"""Postgres, in the order in which one needs the other: the server, the schema, the keyring, who administers.

Not here: what the catalogue in it says (`declared.py`), where usage goes (`books.py`).
"""

from collections.abc import AsyncIterator
from functools import partial

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.encryption_state import KeyringMismatch, check_keyring
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.migrate import LEDGER_BOOK, MigrationRefused, Migrator
from ktms.adapters.postgres.migration_files import ledger_folder, read_migrations, shipped_folder
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.server_facts import ServerFacts, read_facts, why_away
from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.doctor.clocks import clock_finding
from ktms.app.doctor.environment import is_far
from ktms.app.doctor.finding import Finding, error, fine, warning
from ktms.app.release import release
from ktms.config.settings import Settings
from ktms.domain.access.secret import Secret
from ktms.ports.catalogue import StoreAway
from ktms.ports.clock import Clock
from ktms.ports.secrets import Secrets

POSTGRES, SCHEMA, KEYRING, OWNER = "postgres", "schema", "keyring", "administration"


async def server_findings(settings: Settings, database: Database, clock: Clock) -> AsyncIterator[Finding]:
    """Look at the server."""
    before_s = clock.wall()
    try:
        facts = await read_facts(database)
    except StoreAway as away:
        yield _away("KTMS_DATABASE_URL", away)
        return
    yield _judged(facts, settings)
    if settings.database_url is not None and is_far(settings.database_url.reveal()) and not facts.encrypted:
        yield warning(POSTGRES, "plain text to another machine", "add ?sslmode=verify-full to KTMS_DATABASE_URL")
    yield clock_finding(POSTGRES, facts.clock_s, before_s, clock.wall())


async def schema_finding(settings: Settings, direct: Secret) -> Finding:
    """Look for files that are not applied yet; those of the ledger too, unless it is a process of its own."""
    entropy, silent = SystemEntropy(), MemoryTelemetry()
    make = partial(Migrator, direct.reveal(), app_version=release(), entropy=entropy, telemetry=silent)
    migrators = [make(read_migrations(shipped_folder()))]
    if settings.ledger_addr is None:
        migrators.append(make(read_migrations(ledger_folder()), book=LEDGER_BOOK))
    try:
        lacking = [name for migrator in migrators for name in await migrator.check()]
    except StoreAway as away:
        return _away("KTMS_DATABASE_DIRECT_URL" if settings.database_direct_url else "KTMS_DATABASE_URL", away)
    except MigrationRefused as refused:
        return error(SCHEMA, str(refused))
    if lacking:
        return warning(
            SCHEMA, f"{len(lacking)} steps are missing", "ktms migrate applies them, and so does the next start"
        )
    return fine(SCHEMA, "up to date")


async def keyring_finding(database: Database, secrets: Secrets) -> Finding:
    """Compare the keyring with what the database is encrypted under."""
    try:
        primary = await check_keyring(database, secrets)
    except KeyringMismatch as mismatch:
        return error(KEYRING, str(mismatch))
    if primary is None:
        return fine(KEYRING, f"nothing is encrypted yet; the first start takes the key {secrets.key_ids()[0]}")
    return fine(KEYRING, f"it can read every row; the database is encrypted under the key {primary}")


async def owner_finding(settings: Settings, database: Database) -> Finding:
    """Say whether anybody can administer this gateway, and whether the key of the first owner still lies about."""
    has_owner = await PostgresKeyAdmin(database, SystemEntropy()).has_owner()
    bootstrap = settings.bootstrap_admin_key is not None
    if has_owner and bootstrap:
        return warning(
            OWNER, "KTMS_BOOTSTRAP_ADMIN_KEY is set and not accepted any more: there is an owner", "unset it"
        )
    if not has_owner and not bootstrap:
        return error(OWNER, "there is no owner yet, so nobody may administer", "set KTMS_BOOTSTRAP_ADMIN_KEY once")
    return fine(OWNER, "there is an owner" if has_owner else "the next start makes the first owner")


def _away(name: str, away: StoreAway) -> Finding:
    return error(POSTGRES, f"it does not answer: {why_away(away)}", f"mend {name} or the server")


def _judged(facts: ServerFacts, settings: Settings) -> Finding:
    most = settings.database_pool_max
    text = f"{facts.version} answers; {facts.connections_max} connections, a replica takes {most} at most"
    if facts.read_only:
        return error(POSTGRES, f"{text}; it is read-only", "name the primary server in KTMS_DATABASE_URL")
    if most >= facts.connections_max:
        return warning(POSTGRES, text, "raise its max_connections, or lower KTMS_DATABASE_POOL_MAX")
    return fine(POSTGRES, text)
