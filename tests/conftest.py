"""Real servers for every test that asks for one, started once per session from wheels; chance that repeats.

`postgres_dsn` is a migrated database of the test's own, `bare_dsn` an empty one, `valkey_url` an emptied server.
Whoever uses one of them is marked `service`. `postgres_gate` leads to Postgres until it is told to hang or close.
"""

import asyncio
import base64
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest
import redis.asyncio

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.encryption_state import settle_keyring
from ktms.adapters.postgres.migrate import CATALOGUE_BOOK, LEDGER_BOOK, Book, Migrator
from ktms.adapters.postgres.migration_files import Migration, ledger_folder, read_migrations, shipped_folder
from ktms.adapters.postgres.pool import Database, open_database
from ktms.domain.access.keyring import Keyring, parse_keyring

# gRPC restarts its poller in every forked child, and Python closes that poller's descriptor before it executes the
# program: the child aborts now and then (grpc/grpc 43055). Our children never use what they inherit.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"  # noqa: TID251 - read by the library when it first begins

SERVERS = ("postgres_server", "valkey_server")
MIGRATED = "migrated"


class Gate:
    """A TCP relay to one port of loopback: `hang` takes everything and answers nothing, `close` refuses.

    `answer` may change what the server says, piece by piece.
    """

    def __init__(self, port: int) -> None:
        self.answer: Callable[[bytes], bytes] = bytes
        self._target = port
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Refuse new connections and drop those there are; twice is harmless, `open` takes the same port again."""
        assert self._server, "opened first"
        self._server.close()
        self._flowing.set()
        for writer in set(self._writers):
            writer.transport.abort()
        await self._server.wait_closed()

    def hang(self) -> None:
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, there}
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(reader, there, bytes))
                pumps.create_task(self._pump(there_reader, writer, self.answer))
        finally:
            self._writers -= {writer, there}

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, change: Callable[[bytes], bytes]
    ) -> None:
        try:
            while piece := await reader.read(65536):
                await self._flowing.wait()
                writer.write(change(piece))
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if set(SERVERS) & set(getattr(item, "fixturenames", ())):
            item.add_marker("service")


@pytest.fixture
def entropy(request: pytest.FixtureRequest) -> SeededEntropy:
    return SeededEntropy(request.node.nodeid)


@pytest.fixture
def telemetry() -> MemoryTelemetry:
    return MemoryTelemetry()


@pytest.fixture(scope="session")
def server_folder() -> Iterator[Path]:
    """A folder that the unprivileged account of the servers can enter, which pytest's own is not."""
    folder = Path(tempfile.mkdtemp(prefix="ktms-tests-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres_server(server_folder: Path) -> Iterator[EmbeddedPostgres]:
    entropy = SeededEntropy("postgres")
    server = EmbeddedPostgres(server_folder, entropy=entropy, durable=False, connections_max=200)
    with asyncio.Runner() as runner:
        runner.run(server.__aenter__())
        try:
            runner.run(_make_migrated(server))
            yield server
        finally:
            runner.run(server.__aexit__(None, None, None))


@pytest.fixture(scope="session")
def valkey_server(server_folder: Path) -> Iterator[EmbeddedValkey]:
    server = EmbeddedValkey(server_folder, entropy=SeededEntropy("valkey"))
    with asyncio.Runner() as runner:
        runner.run(server.__aenter__())
        try:
            yield server
        finally:
            runner.run(server.__aexit__(None, None, None))


@pytest.fixture
async def postgres_dsn(postgres_server: EmbeddedPostgres) -> str:
    """The migrated database, as the migrations left it: emptying one is five times as fast as making one."""
    connection = await asyncpg.connect(postgres_server.dsn_of(MIGRATED))
    try:
        await connection.execute(_END_OTHERS)
        tables = [row["name"] for row in await connection.fetch(_TABLES)]
        emptying = "; ".join(f"delete from {table}" for table in tables)  # noqa: S608  # names out of the catalogue
        await connection.execute(f"set session_replication_role = replica; {emptying}; {_first_rows()}")
    finally:
        await connection.close()
    return postgres_server.dsn_of(MIGRATED)


@pytest.fixture
async def bare_dsn(postgres_server: EmbeddedPostgres) -> AsyncIterator[str]:
    name = f"bare_{next(_numbers)}"
    await _administer(postgres_server, f'create database "{name}"')
    yield postgres_server.dsn_of(name)
    await _administer(postgres_server, f'drop database "{name}" with (force)')


@pytest.fixture
async def valkey_url(valkey_server: EmbeddedValkey) -> str:
    client = redis.asyncio.Redis.from_url(valkey_server.url)
    await client.flushall()
    await client.aclose()
    return valkey_server.url


@pytest.fixture
async def postgres_gate(postgres_server: EmbeddedPostgres) -> AsyncIterator[Gate]:
    gate = Gate(postgres_server.port)
    await gate.open()
    yield gate
    await gate.close()


@pytest.fixture
async def silent_port() -> AsyncIterator[int]:
    """A port that takes connections and never says anything."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1024):
            pass
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def gated_dsn(postgres_server: EmbeddedPostgres, postgres_gate: Gate, postgres_dsn: str) -> str:
    """The test's own database, by way of the gate."""
    return postgres_dsn.replace(f":{postgres_server.port}/", f":{postgres_gate.port}/")


@pytest.fixture
def gated_bare_dsn(postgres_server: EmbeddedPostgres, postgres_gate: Gate, bare_dsn: str) -> str:
    """The test's own empty database, by way of the gate."""
    return bare_dsn.replace(f":{postgres_server.port}/", f":{postgres_gate.port}/")


@pytest.fixture
def keyring(entropy: SeededEntropy) -> Keyring:
    """Two keys, `new` preferred and `old`."""
    values = (base64.urlsafe_b64encode(entropy.token_bytes(32)).decode().rstrip("=") for _ in range(2))
    return parse_keyring(
        ",".join(f"{key_id}:{value}" for key_id, value in zip(("new", "old"), values, strict=True))
    )


@pytest.fixture
def keyring_secrets(keyring: Keyring, entropy: SeededEntropy) -> KeyringSecrets:
    return KeyringSecrets(keyring, entropy)


@pytest.fixture
async def database(postgres_dsn: str, keyring_secrets: KeyringSecrets) -> AsyncIterator[Database]:
    """An open pool on the test's own database, which has adopted the keyring."""
    async with open_database(postgres_dsn) as opened:
        await settle_keyring(opened, keyring_secrets)
        yield opened


_numbers = itertools.count(1)

_END_OTHERS = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""

_TABLES = """
select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'ktms_migration'
union all values ('ledger.usage_event'), ('ledger.usage_day')
"""


def _first_rows() -> str:
    """The rows that migrations insert."""
    files = read_migrations(shipped_folder())
    return " ".join(
        row for file in files for row in re.findall(r"^insert into .*?;", file.sql, re.DOTALL | re.MULTILINE)
    )


async def _make_migrated(server: EmbeddedPostgres) -> None:
    await _administer(server, f'create database "{MIGRATED}"')
    await migrator(server.dsn_of(MIGRATED), read_migrations(shipped_folder())).run()
    await migrator(server.dsn_of(MIGRATED), read_migrations(ledger_folder()), LEDGER_BOOK).run()


def migrator(dsn: str, files: tuple[Migration, ...], book: Book = CATALOGUE_BOOK) -> Migrator:
    return Migrator(
        dsn,
        files,
        app_version="test",
        entropy=SeededEntropy("migrations"),
        telemetry=MemoryTelemetry(),
        book=book,
    )


async def _administer(server: EmbeddedPostgres, statement: str) -> None:
    connection = await asyncpg.connect(server.dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
