"""All that `ktms doctor` looks at, in order; what cannot be looked at because of what came before is left out."""

from collections.abc import AsyncIterator

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.pool import Database, open_database
from ktms.adapters.system.entropy import SystemEntropy
from ktms.app.doctor.database import keyring_finding, owner_finding, schema_finding, server_findings
from ktms.app.doctor.declared import CATALOGUE, catalogue_findings
from ktms.app.doctor.environment import environment_findings, keyring_or_none
from ktms.app.doctor.finding import Finding, Verdict, error
from ktms.app.doctor.ledger import ledger_finding
from ktms.app.doctor.store import redis_findings
from ktms.config.settings import Settings
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue_rules import CatalogueInvalid
from ktms.ports.catalogue import StoreAway
from ktms.ports.clock import Clock

CONNECTIONS = 2
"""One question at a time; a second connection where the first was lost."""


async def examine(settings: Settings, clock: Clock, files_max: int) -> AsyncIterator[Finding]:
    """Look at everything once; `files_max` is how many files a process may open here."""
    for finding in environment_findings(settings, files_max):
        yield finding
    async for finding in redis_findings(settings, clock):
        yield finding
    if settings.database_url is None:
        return
    async with open_database(settings.database_url.reveal(), connections_max=CONNECTIONS) as database:
        async for finding in _stored(settings, settings.database_url, database, clock):
            yield finding
        if settings.ledger_addr is not None:
            yield await ledger_finding(settings, database)


async def _stored(settings: Settings, url: Secret, database: Database, clock: Clock) -> AsyncIterator[Finding]:
    """Look at Postgres and what is in it, as far as each step allows the next."""
    answers = True
    async for finding in server_findings(settings, database, clock):
        answers = answers and finding.verdict is not Verdict.ERROR
        yield finding
    if not answers:
        return
    schema = await schema_finding(settings, settings.database_direct_url or url)
    yield schema
    if schema.verdict is not Verdict.OK:
        return
    try:
        async for finding in _content(settings, database):
            yield finding
    except StoreAway as away:
        yield error("postgres", f"it went away meanwhile: {away}")


async def _content(settings: Settings, database: Database) -> AsyncIterator[Finding]:
    """Look at what is stored."""
    if settings.ledger_addr is None:
        yield await ledger_finding(settings, database)
    yield await owner_finding(settings, database)
    keyring = keyring_or_none(settings)
    if keyring is None:
        return
    secrets = KeyringSecrets(keyring, SystemEntropy())
    fits = await keyring_finding(database, secrets)
    yield fits
    if fits.verdict is Verdict.ERROR:
        return
    said = MemoryTelemetry()
    try:
        catalogue = await PostgresCatalogueStore(database, secrets, said).catalogue()
    except CatalogueInvalid as invalid:
        for complaint in invalid.complaints:
            yield error(CATALOGUE, str(complaint))
        return
    for event in said.events:
        yield error(CATALOGUE, f"a secret of {event.facts['belongs_to']} cannot be decrypted", "apply it again")
    for finding in catalogue_findings(catalogue, settings.dollar_limit_mode):
        yield finding
