"""`ktms serve`: one gateway process in production, everything from the environment.

A database that is away at start does not end the process: it listens, is alive, and is not ready, or serves
what was saved while that counts (FP9).
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from ktms.adapters.postgres.encryption_state import KeyringMismatch
from ktms.adapters.postgres.migrate import MigrationRefused
from ktms.adapters.redis.connect import RedisProbe
from ktms.adapters.system.garbage import put_lasting_aside
from ktms.adapters.system.open_files import raise_open_files
from ktms.adapters.system.port_owner import port_owner
from ktms.adapters.telemetry.access_line import LogFormat
from ktms.app.admin_port import admin_port
from ktms.app.assemble import assemble
from ktms.app.books import ledger_at
from ktms.app.failed import StartFailed
from ktms.app.gateway_settings import address_rules, gateway_settings, log_settings
from ktms.app.production import Production, World, production
from ktms.app.running import run_until_stopped, stop_signals
from ktms.app.slots import RedisAt
from ktms.config.address import Address
from ktms.config.settings import Settings
from ktms.domain.access.key_form import KeyKind, read_key
from ktms.domain.access.keyring import Keyring, KeyringInvalid, parse_keyring
from ktms.domain.access.secret import Secret

STDOUT = 1
MS_PER_S = 1000


async def serve(settings: Settings) -> None:
    """Run until a signal.

    Raises:
        StartFailed: with what is missing or in the way.
    """
    with stop_signals() as stops:
        async with AsyncExitStack() as opened:
            real = await opened.enter_async_context(production(_world(settings)))
            if settings.redis_url is None:
                real.telemetry.event("warning", "no_redis", remedy="set KTMS_REDIS_URL where replicas share nodes")
            for line in settings.unknown_names:
                real.telemetry.event("warning", "unknown_setting", line=line)
            gateway = assemble(
                real.ports,
                None,
                gateway_settings(settings, drain_delay_s=settings.drain_delay_s, files_max=raise_open_files()),
            )
            opened.push_async_callback(gateway.stop)
            await _listen(gateway.start, settings.http_addr)
            if settings.metrics_addr is not None:
                await _listen(gateway.start_metrics, settings.metrics_addr)
            await opened.enter_async_context(
                admin_port(
                    real,
                    settings.admin_addr,
                    gateway.fleet,
                    tls=settings.admin_tls,
                    allow_plaintext=settings.admin_allow_plaintext,
                )
            )
            put_lasting_aside()
            at = {"http": str(settings.http_addr), "admin": str(settings.admin_addr)}
            real.telemetry.event("info", "listening", **at)
            preparing = _Preparing(real, settings.bootstrap_admin_key)

            async def run() -> None:
                async with asyncio.TaskGroup() as group:
                    prepared = group.create_task(preparing.run())
                    if not gateway.started_alone:  # else calls are served already, and lean on what runs beside
                        await prepared
                    await gateway.run()

            probe = None
            if settings.redis_url is not None:
                probe = RedisProbe(settings.redis_url.reveal(), settings.redis_timeout_ms / MS_PER_S)
                opened.push_async_callback(probe.close)
            await run_until_stopped(gateway, stops, (run, *real.works(probe)))


async def _listen(start: Callable[[str, int], Awaitable[int]], address: Address) -> None:
    try:
        await start(address.host, address.port)
    except OSError as error:
        owner = port_owner(address.port) or "another program"
        raise StartFailed(f"cannot listen on {address}: taken by {owner}, or not ours") from error


def _world(settings: Settings) -> World:
    """Say where everything is.

    Raises:
        StartFailed: a setting that has no default is missing.
    """
    if settings.database_url is None or settings.encryption_keys is None:
        raise StartFailed(*missing_settings(settings))
    if settings.workers > 1:
        raise StartFailed(
            "KTMS_WORKERS: this release runs one worker per process; start several behind a balancer"
        )
    return World(
        database_url=settings.database_url,
        migrate_url=settings.database_direct_url or settings.database_url,
        keyring=keyring_of(settings.encryption_keys),
        connections_max=settings.database_pool_max,
        address_rules=address_rules(settings, loopback_nodes=False),
        log=log_settings(settings, log_format=LogFormat(settings.log_format.value), fd=STDOUT),
        redis=None
        if settings.redis_url is None
        else RedisAt(settings.redis_url, settings.redis_timeout_ms / MS_PER_S),
        ledger=ledger_at(settings),
        spool_dir=settings.spool_dir,
        snapshot_file=settings.snapshot_file,
    )


def missing_settings(settings: Settings) -> tuple[str, ...]:
    """Name all that has no default, at once."""
    needed = (
        (settings.database_url, "KTMS_DATABASE_URL is not set: where is Postgres? (ktms up brings its own)"),
        (
            settings.encryption_keys,
            'KTMS_ENCRYPTION_KEYS is not set: expected "id:key", key = 32 bytes in base64url',
        ),
    )
    return tuple(text for value, text in needed if value is None)


def keyring_of(text: Secret) -> Keyring:
    """Read the keyring.

    Raises:
        StartFailed: it is none; the message says what is wrong, never a key.
    """
    try:
        return parse_keyring(text.reveal())
    except KeyringInvalid as error:
        raise StartFailed(f"KTMS_ENCRYPTION_KEYS: {error}") from error


class _Preparing:
    """Prepares the database as soon as it answers, then makes the first owner where one was asked for.

    The gateway listens meanwhile, alive and not ready: another replica may hold the migrations for minutes.
    """

    def __init__(self, real: Production, bootstrap_key: Secret | None) -> None:
        self._real = real
        self._key = bootstrap_key

    async def run(self) -> None:
        """Run once.

        Raises:
            StartFailed: the database is not ours to use.
        """
        try:
            await self._real.await_database()
        except (MigrationRefused, KeyringMismatch) as error:
            raise StartFailed(str(error)) from error
        if self._key is not None:
            await self._bootstrap(self._key)

    async def _bootstrap(self, key: Secret) -> None:
        text = read_key(key.reveal())
        if text is None or text.kind is not KeyKind.ADMIN:
            raise StartFailed("KTMS_BOOTSTRAP_ADMIN_KEY is not a complete admin key (ktms_adm_…)")
        if not await self._real.keys.bootstrap(key.reveal()):
            self._real.telemetry.event("warning", "bootstrap_key_ignored", remedy="unset KTMS_BOOTSTRAP_ADMIN_KEY")
