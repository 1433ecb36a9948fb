"""`ktms up`: a whole gateway on this machine, databases included, bound to loopback.

Order: databases, schema, keys, catalogue, port, admin, then the text that says what to try. What is opened is
closed in reverse, whatever happens.
"""

import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.embedded.tcp_port import PORT_RACES_MAX, PORTS_TRIED_MAX, free_port, is_free
from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.postgres.encryption_state import KeyringMismatch
from ktms.adapters.postgres.migrate import MigrationRefused
from ktms.adapters.redis.connect import RedisProbe
from ktms.adapters.system.garbage import put_lasting_aside
from ktms.adapters.system.open_files import raise_open_files
from ktms.adapters.system.port_owner import port_owner
from ktms.adapters.telemetry.access_line import LogFormat
from ktms.app.admin_port import admin_port
from ktms.app.assemble import assemble
from ktms.app.banner import Started, banner
from ktms.app.books import ledger_at
from ktms.app.failed import StartFailed
from ktms.app.first_catalogue import Wanted, beside, is_declared, look_around
from ktms.app.first_keys import UP, first_client_key, first_owner
from ktms.app.gateway import Gateway
from ktms.app.gateway_settings import address_rules, gateway_settings, log_settings
from ktms.app.home import Home
from ktms.app.options import UpOptions
from ktms.app.production import Production, World, production
from ktms.app.release import release
from ktms.app.running import run_until_stopped, stop_signals
from ktms.app.slots import RedisAt
from ktms.config.address import Address
from ktms.config.gateway_file import GatewayFile, GatewayFileInvalid, load_gateway
from ktms.config.settings import Settings
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue_rules import CatalogueInvalid, warnings
from ktms.domain.joined_node import served_after
from ktms.domain.snapshot import Model
from ktms.ports.config_store import Applied

LOOPBACK = "127.0.0.1"

STDERR = 2
MS_PER_S = 1000

STORED_NOTE = "config      as stored by an earlier --config or apply (--data-dir FOLDER starts afresh beside it)"

WARNINGS_SHOWN_MAX = 10
"""What to try first stands below them, and must stay on the screen."""

OWN_REDIS_S = 0.5
"""Our own Redis shares the processors with engines that use them all: it is slow there before it is away."""


async def up(options: UpOptions, settings: Settings, home: Home, data_dir: Path) -> None:
    """Run until a signal.

    Raises:
        StartFailed: with what is in the way.
    """
    began_at = os.times().elapsed
    file = None if options.config is None else _read(options.config)
    _refuse_taken(options.port)
    with stop_signals() as stops:
        async with AsyncExitStack() as opened:
            real, probe = await _open_world(opened, settings, home, data_dir)
            await first_owner(home, real.keys)
            new_key = await first_client_key(home, real.keys, real.ports.keys)
            wanted = await _wanted(options, file, real, opened)
            applied, warned = await _applied(wanted, real)
            files_max = raise_open_files()
            gateway = assemble(real.ports, None, gateway_settings(settings, drain_delay_s=0, files_max=files_max))
            port, notes = await _open_port(gateway, options, settings)
            opened.push_async_callback(gateway.stop)
            admin_addr = await _open_admin(
                settings.admin_addr.port,
                lambda at: opened.enter_async_context(admin_port(real, at, gateway.fleet)),
            )
            home.keep_admin_addr(str(admin_addr))
            snapshot = await real.ports.catalogue.snapshot()
            text = Started(
                command=_command(),
                url=f"http://{LOOPBACK}:{port}",
                version=release(),
                models=tuple(model.name for model in snapshot.models if _has_a_place(model)),
                chains=tuple(chain.name for chain in snapshot.chains),
                notes=(
                    *notes,
                    *wanted.notes,
                    *_warning_notes(warned),
                    *(f"new key     {key.name}: {key.token}" for key in applied.new_keys),
                ),
                key_file=home.client_key_file,
                new_key=new_key,
                admin_addr=str(admin_addr),
                data_dir=data_dir,
                seconds=os.times().elapsed - began_at,
            )
            put_lasting_aside()
            sys.stdout.write(banner(text) + "\n")
            sys.stdout.flush()
            await run_until_stopped(gateway, stops, (gateway.run, *real.works(probe)))
    sys.stdout.write("stopped\n")


def _has_a_place(model: Model) -> bool:
    """Whether anything serves it: nodes that are gone leave their models behind, for chains that name them."""
    return bool(model.cloud) or any(target.nodes for target in model.local)


async def _open_world(
    opened: AsyncExitStack, settings: Settings, home: Home, data_dir: Path
) -> tuple[Production, RedisProbe]:
    try:
        postgres = await opened.enter_async_context(
            EmbeddedPostgres(data_dir, entropy=home.entropy, password_file=home.folder / "postgres.password")
        )
        valkey = await opened.enter_async_context(
            EmbeddedValkey(data_dir, entropy=home.entropy, password_file=home.folder / "valkey.password")
        )
    except EmbeddedFailed as error:
        raise StartFailed(error.message) from error
    world = World(
        database_url=Secret(postgres.dsn),
        migrate_url=Secret(postgres.dsn),
        keyring=home.keyring(),
        connections_max=settings.database_pool_max,
        address_rules=address_rules(settings, loopback_nodes=True),
        log=log_settings(settings, log_format=LogFormat.CONSOLE, fd=STDERR),
        ledger=ledger_at(settings),
        spool_dir=settings.spool_dir,
        redis=RedisAt(Secret(valkey.url), max(settings.redis_timeout_ms / MS_PER_S, OWN_REDIS_S), ours=True),
    )
    real = await opened.enter_async_context(production(world))
    try:
        await real.prepare_database()
    except (MigrationRefused, KeyringMismatch) as error:
        raise StartFailed(str(error)) from error
    probe = RedisProbe(valkey.url, settings.redis_timeout_ms / MS_PER_S)
    opened.push_async_callback(probe.close)
    return real, probe


def _read(path: Path) -> GatewayFile:
    """Read the file before anything runs: a mistake in it costs no start of a database."""
    try:
        file = load_gateway(path)
        file.check()
    except GatewayFileInvalid as error:
        raise StartFailed(*error.lines) from error
    return file


async def _wanted(
    options: UpOptions, file: GatewayFile | None, real: Production, opened: AsyncExitStack
) -> Wanted:
    stored = await real.config.export()
    if file is None:
        found = await look_around(stored, own_ports=(), demo=options.demo, opened=opened)
        return replace(found, notes=(STORED_NOTE, *found.notes)) if is_declared(stored) else found
    catalogue = file.catalogue if file.states_policy else replace(file.catalogue, policy=stored.policy)
    nodes = (*catalogue.nodes, *await beside(catalogue, stored))
    return Wanted(replace(catalogue, nodes=nodes), (f"config      {file.path}",))


async def _applied(wanted: Wanted, real: Production) -> tuple[Applied, Sequence[str]]:
    """Add it to what is stored, which may contradict it: an alias may be the name of an earlier model.

    The second value is what an operator should look at, as `ktms apply` tells it.
    """
    known = await real.nodes.list()
    try:
        applied = await real.config.apply(wanted.catalogue, actor=UP, prune=False, dry_run=False)
    except CatalogueInvalid as error:
        raise StartFailed(*str(error).splitlines()) from error
    others = tuple(served_after(wanted.catalogue, known, prune=False))
    return applied, warnings(wanted.catalogue, others)


def _warning_notes(warned: Sequence[str]) -> Iterator[str]:
    yield from (f"warning     {text}" for text in warned[:WARNINGS_SHOWN_MAX])
    if len(warned) > WARNINGS_SHOWN_MAX:
        yield f"warning     and {len(warned) - WARNINGS_SHOWN_MAX} more: ktms apply --dry-run tells all of a file"


async def _open_admin(wanted: int, open_at: Callable[[Address], Awaitable[object]]) -> Address:
    """Open the admin port: the usual one or the next free after it, which another start may be faster to take."""
    taken: StartFailed | None = None
    for _ in range(PORT_RACES_MAX):
        try:
            address = Address(LOOPBACK, free_port(wanted))
        except EmbeddedFailed as error:
            raise StartFailed(error.message) from error
        try:
            await open_at(address)
        except StartFailed as error:  # on loopback, in plain text, nothing else can be in the way
            taken = error
        else:
            return address
    assert taken is not None
    raise taken


def _refuse_taken(port: int | None) -> None:
    """Look at a port asked for before anything runs; who takes it after that is met when it is opened."""
    if port is not None and not is_free(port):
        raise _taken(port)


def _taken(port: int) -> StartFailed:
    owner = port_owner(port) or "another program"
    return StartFailed(f"port {port} is taken by {owner}: stop it, or name another port")


async def _open_port(gateway: Gateway, options: UpOptions, settings: Settings) -> tuple[int, tuple[str, ...]]:
    """Open the API's port: the one asked for or none, else the usual one or the next free after it."""
    wanted = options.port or settings.http_addr.port
    taken: OSError | None = None
    for port in range(wanted, wanted + (1 if options.port else PORTS_TRIED_MAX)):
        try:
            opened = await gateway.start(LOOPBACK, port)
        except OSError as error:
            taken = taken or error
            continue
        if port == wanted:
            return opened, ()
        return opened, (f"port        {wanted} is taken by {port_owner(wanted) or 'another program'}",)
    raise _taken(wanted) from taken


def _command() -> str:
    """Say how to call this program again: by its name where the shell would find it, else as it was called."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    known = found is not None and called.exists() and Path(found).samefile(called)
    return called.name if known else str(called)
