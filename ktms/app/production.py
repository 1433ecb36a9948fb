"""The real world behind the ports: Postgres, the network, the clock. The only place that chooses adapters.

Opens lazily: a database that is away keeps nobody from starting (FP9), it only keeps the gateway from being
ready.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.change_feed import PostgresChangeFeed
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.encryption_state import settle_keyring
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.key_store import PostgresKeyStore
from ktms.adapters.postgres.migrate import Migrator
from ktms.adapters.postgres.migration_files import read_migrations, shipped_folder
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.adapters.postgres.policy_store import PostgresPolicyStore
from ktms.adapters.postgres.pool import Database
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.adapters.telemetry.library_logs import LibraryLogs
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import Ports
from ktms.app.release import release
from ktms.app.slots import RedisAt, open_slots
from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret
from ktms.domain.snapshot import Reach
from ktms.ports.catalogue import StoreAway

DATABASE_RETRY_S = 1.0
"""Pause between looks for a database that is away at start; recovery has 2 s (FP8)."""


@dataclass(frozen=True, slots=True)
class World:
    """Where everything is.

    `migrate_url` is a direct connection, `database_url` may lead through a pooler. Without `redis` the slots of
    our machines are counted in this process alone.
    """

    database_url: Secret
    migrate_url: Secret
    keyring: Keyring
    connections_max: int
    address_rules: AddressRules
    log: LogSettings
    redis: RedisAt | None = None


@dataclass(frozen=True, slots=True)
class Production:
    """Ports for the gateway, and the stores of the admin plane."""

    ports: Ports
    config: PostgresConfigStore
    keys: PostgresKeyAdmin
    nodes: PostgresNodeRegistry
    policies: PostgresPolicyStore
    telemetry: GatewayTelemetry
    entropy: SystemEntropy
    _database: Database
    _secrets: KeyringSecrets
    _migrator: Migrator

    async def prepare_database(self) -> tuple[str, ...]:
        """Migrate and check the keyring; give the names of the migrations applied.

        Raises:
            StoreAway: the database does not answer.
            MigrationRefused, KeyringMismatch: it is not ours to use; the message says why.
        """
        applied = await self._migrator.run()
        await settle_keyring(self._database, self._secrets)
        return applied

    async def await_database(self) -> None:
        """Prepare the database as soon as it answers."""
        while True:
            try:
                await self.prepare_database()
            except StoreAway:
                self.telemetry.event("warning", "database_away_at_start")
                await asyncio.sleep(DATABASE_RETRY_S)
            else:
                return


@asynccontextmanager
async def production(world: World) -> AsyncIterator[Production]:
    """Open the real world, and close it in the same block."""
    clock, entropy = SystemClock(), SystemEntropy()
    telemetry = GatewayTelemetry(clock, world.log, version=release())
    libraries = LibraryLogs(telemetry)
    logging.getLogger().addHandler(libraries)
    secrets = KeyringSecrets(world.keyring, entropy)
    database = Database(world.database_url.reveal(), connections_max=world.connections_max)
    upstream = HttpUpstream(UpstreamSettings(), world.address_rules)
    nodes = PostgresNodeRegistry(database, secrets, entropy, telemetry)
    try:
        await database.open()
        async with open_slots(world.redis, entropy, telemetry) as slots:
            ports = Ports(
                clock=clock,
                entropy=entropy,
                upstream=upstream,
                leases=slots.leases,
                room=slots.room,
                board=slots.board,
                catalogue=PostgresCatalogueStore(database, secrets, telemetry),
                keys=PostgresKeyStore(database),
                nodes=nodes,
                address_refusal=partial(world.address_rules.refusal, Reach.NODE),
                changes=PostgresChangeFeed(world.migrate_url.reveal()),
                ledger=MemoryLedger(),
                telemetry=telemetry,
                exposition=telemetry.exposition,
            )
            yield Production(
                ports=ports,
                config=PostgresConfigStore(database, secrets, entropy, telemetry),
                keys=PostgresKeyAdmin(database, entropy),
                nodes=nodes,
                policies=PostgresPolicyStore(database, entropy),
                telemetry=telemetry,
                entropy=entropy,
                _database=database,
                _secrets=secrets,
                _migrator=_migrator(world, entropy, telemetry),
            )
    finally:
        await upstream.close()
        await database.close()
        logging.getLogger().removeHandler(libraries)
        telemetry.stop()


def _migrator(world: World, entropy: SystemEntropy, telemetry: GatewayTelemetry) -> Migrator:
    return Migrator(
        world.migrate_url.reveal(),
        read_migrations(shipped_folder()),
        app_version=release(),
        entropy=entropy,
        telemetry=telemetry,
    )
