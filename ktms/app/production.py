"""The real world behind the ports: Postgres, the network, the clock. The only place that chooses adapters.

Opens lazily: a database that is away keeps nobody from starting (FP9), it only keeps the gateway from being
ready, unless a saved snapshot still counts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from ktms.adapters.envelope.keyring_secrets import SEALED_ANSWER_BYTES_MAX, KeyringSecrets
from ktms.adapters.files.snapshot_file import SNAPSHOT_BYTES_MAX, EncryptedSnapshotFile, boot_id
from ktms.adapters.postgres.batch_store import PostgresBatchStore
from ktms.adapters.postgres.batch_upkeep import PostgresBatchUpkeep
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.change_feed import CONNECTIONS as NEWS_CONNECTIONS
from ktms.adapters.postgres.change_feed import PostgresChangeFeed
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.encryption_state import settle_keyring
from ktms.adapters.postgres.file_store import PostgresFileStore
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.key_store import PostgresKeyStore
from ktms.adapters.postgres.line_store import PostgresLineStore
from ktms.adapters.postgres.migrate import LEDGER_BOOK, Migrator
from ktms.adapters.postgres.migration_files import ledger_folder, read_migrations, shipped_folder
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.adapters.postgres.policy_store import PostgresPolicyStore
from ktms.adapters.postgres.pool import Database, open_database
from ktms.adapters.postgres.repeats import PostgresRepeats
from ktms.adapters.postgres.server_facts import why_away
from ktms.adapters.redis.connect import RedisProbe
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings, open_telemetry
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.agent_files import agent_files
from ktms.app.batch_parts import BatchPorts
from ktms.app.beside import watch_redis
from ktms.app.books import LedgerAt, open_book, open_spool
from ktms.app.gateway import Ports
from ktms.app.release import release
from ktms.app.slots import RedisAt, Slots, open_slots
from ktms.domain.access.keyring import Keyring
from ktms.domain.access.secret import Secret
from ktms.domain.snapshot import Reach
from ktms.engine.lasting import Loop, lasting
from ktms.ports.catalogue import StoreAway

DATABASE_RETRY_S = 1.0
"""Pause between looks for a database that is away at start; recovery has 2 s (FP8)."""


@dataclass(frozen=True, slots=True)
class World:
    """Where everything is.

    `migrate_url` is a direct connection, `database_url` may lead through a pooler. Of `connections_max`, two at
    least, one hears news, and the others are a pool. Without `redis` the slots of our machines are counted in this
    process alone; without `ledger` usage is kept in this very database; without `snapshot_file` a start waits for
    the database.
    """

    database_url: Secret
    migrate_url: Secret
    keyring: Keyring
    connections_max: int
    address_rules: AddressRules
    log: LogSettings
    redis: RedisAt | None = None
    ledger: LedgerAt | None = None
    spool_dir: Path | None = None
    snapshot_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Production:
    """Ports for the gateway, and the stores of the admin plane. `redis_silenced`: Redis is left alone for now."""

    ports: Ports
    config: PostgresConfigStore
    keys: PostgresKeyAdmin
    nodes: PostgresNodeRegistry
    policies: PostgresPolicyStore
    telemetry: GatewayTelemetry
    entropy: SystemEntropy
    redis_silenced: Callable[[], bool]
    _database: Database
    _secrets: KeyringSecrets
    _migrators: tuple[Migrator, ...]

    async def prepare_database(self) -> tuple[str, ...]:
        """Migrate and check the keyring; give the names of the migrations applied.

        Raises:
            StoreAway: the database does not answer.
            MigrationRefused, KeyringMismatch: it is not ours to use; the message says why.
        """
        applied = tuple([name for migrator in self._migrators for name in await migrator.run()])
        await settle_keyring(self._database, self._secrets)
        return applied

    def works(self, probe: RedisProbe | None) -> Iterator[Loop]:
        """Give what runs beside a gateway and is none of its engine's: logs go out, and Redis is looked at."""
        yield partial(lasting, "settle-telemetry", self.telemetry.run, self.telemetry)
        if probe is not None:
            yield watch_redis(probe, self.telemetry, self.redis_silenced)

    async def await_database(self) -> None:
        """Prepare the database as soon as it answers."""
        while True:
            try:
                await self.prepare_database()
            except StoreAway as away:
                self.telemetry.event("warning", "database_away_at_start", reason=why_away(away))
                await asyncio.sleep(DATABASE_RETRY_S)
            else:
                return


@asynccontextmanager
async def production(world: World) -> AsyncIterator[Production]:
    """Open the real world, and close it in the same block.

    Raises:
        StartFailed: a folder or a way that the world names cannot be used.
    """
    clock, entropy = SystemClock(), SystemEntropy()
    secrets = KeyringSecrets(world.keyring, entropy)
    async with AsyncExitStack() as opened:
        spool = opened.enter_context(closing(open_spool(world.spool_dir)))
        telemetry = opened.enter_context(open_telemetry(clock, world.log, version=release()))
        database = await opened.enter_async_context(
            open_database(world.database_url.reveal(), connections_max=world.connections_max - NEWS_CONNECTIONS)
        )
        upstream = HttpUpstream(UpstreamSettings(), world.address_rules)
        opened.push_async_callback(upstream.close)
        slots = await opened.enter_async_context(open_slots(world.redis, entropy, telemetry))
        book = await opened.enter_async_context(open_book(world.ledger, database, telemetry))
        ports = Ports(
            clock=clock,
            entropy=entropy,
            upstream=upstream,
            leases=slots.leases,
            room=slots.room,
            board=slots.board,
            catalogue=PostgresCatalogueStore(database, secrets, telemetry),
            keys=PostgresKeyStore(database),
            nodes=PostgresNodeRegistry(database, secrets, entropy, telemetry),
            address_refusal=partial(world.address_rules.refusal, Reach.NODE),
            changes=PostgresChangeFeed(world.migrate_url.reveal()),
            ledger=book,
            reports=book,
            quotas=slots.quotas,
            answers=slots.answers,
            repeats=PostgresRepeats(
                database,
                KeyringSecrets(world.keyring, entropy, sealed_bytes_max=SEALED_ANSWER_BYTES_MAX),
            ),
            spool=spool,
            batches=_batches(database, secrets, entropy),
            telemetry=telemetry,
            exposition=telemetry.exposition,
            snapshot_file=_snapshot_file(world, entropy),
            agent_files=agent_files,
        )
        yield _production(world, ports, slots, telemetry, database, secrets, entropy)


def _production(
    world: World,
    ports: Ports,
    slots: Slots,
    telemetry: GatewayTelemetry,
    database: Database,
    secrets: KeyringSecrets,
    entropy: SystemEntropy,
) -> Production:
    """Put the stores of the admin plane beside the ports."""
    return Production(
        ports=ports,
        config=PostgresConfigStore(database, secrets, entropy, telemetry),
        keys=PostgresKeyAdmin(database, entropy),
        nodes=PostgresNodeRegistry(database, secrets, entropy, telemetry),
        policies=PostgresPolicyStore(database, entropy),
        telemetry=telemetry,
        entropy=entropy,
        redis_silenced=slots.silenced,
        _database=database,
        _secrets=secrets,
        _migrators=_migrators(world, entropy, telemetry),
    )


def _snapshot_file(world: World, entropy: SystemEntropy) -> EncryptedSnapshotFile | None:
    """Give where the snapshot is saved, bound to its database: host and name of it, and no credential."""
    if world.snapshot_file is None:
        return None
    url = urlsplit(world.database_url.reveal())
    host = parse_qs(url.query).get("host", [""])[-1]
    return EncryptedSnapshotFile(
        world.snapshot_file,
        KeyringSecrets(world.keyring, entropy, sealed_bytes_max=SNAPSHOT_BYTES_MAX),
        f"{url.netloc.rpartition('@')[2] or host}{url.path}",
        boot_id(),
    )


def _batches(database: Database, secrets: KeyringSecrets, entropy: SystemEntropy) -> BatchPorts:
    files = PostgresFileStore(database, secrets)
    return BatchPorts(
        files=files,
        index=files,
        batches=PostgresBatchStore(database, entropy),
        lines=PostgresLineStore(database, secrets),
        upkeep=PostgresBatchUpkeep(database, secrets),
    )


def _migrators(world: World, entropy: SystemEntropy, telemetry: GatewayTelemetry) -> tuple[Migrator, ...]:
    """Give what prepares this database: the ledger's schema too, unless that is in a database of its own."""
    make = partial(
        Migrator, world.migrate_url.reveal(), app_version=release(), entropy=entropy, telemetry=telemetry
    )
    catalogue = make(read_migrations(shipped_folder()))
    if world.ledger is not None:
        return (catalogue,)
    return catalogue, make(read_migrations(ledger_folder()), book=LEDGER_BOOK)
