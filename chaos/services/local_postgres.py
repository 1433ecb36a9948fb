"""A Postgres of this machine: the embedded one, in a folder that is gone afterwards.

What it has committed outlives `kill`, not the machine: it is written but not synced, and a kernel that goes on
loses nothing.
"""

import asyncio
import secrets
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from chaos.services.account import unprivileged
from chaos.services.answers import postgres_answers, until_it_answers
from chaos.services.free_port import LOOPBACK, free_port
from chaos.services.programs import postgres_programs
from chaos.services.server import ENVIRONMENT, Server
from chaos.services.service import Address, Postgres, ServiceFailed

USER = "ktms"

CONNECTIONS_MAX = 200
"""Three gateways with their pools, a ledger, and those who look."""

INIT_TIMEOUT_S = 120.0
"""Takes a second here; emulated or busy machines need far more."""

START_WITHIN_S = 60.0
"""Takes 0.1 s; after `kill` the log is replayed first."""

SETTINGS = (
    f"listen_addresses={LOOPBACK}",
    "unix_socket_directories=",
    f"max_connections={CONNECTIONS_MAX}",
    "logging_collector=off",
    "fsync=off",  # yet commits are written (`synchronous_commit` stays on), or `kill` would lose some
    "full_page_writes=off",
    "dynamic_shared_memory_type=mmap",  # files of the folder, so that `kill` leaves nothing in the system
)


class LocalPostgres:
    """Made by `local_postgres`; its folder holds data, log and password."""

    def __init__(self, programs: Path, data: Path, server: Server, password: str) -> None:
        self.name = "Postgres (local)"
        self.address = Address(LOOPBACK, free_port())
        self._command: list[str | Path] = [programs / "postgres", "-D", data]
        for setting in (*SETTINGS, f"port={self.address.port}"):
            self._command += ["-c", setting]
        self._server = server
        self._password = password

    def url(self, database: str = "postgres", *, through: Address | None = None) -> str:
        """Give the URL of a database, by way of a proxy."""
        return f"postgresql://{USER}:{self._password}@{through or self.address}/{database}"

    async def freeze(self) -> None:
        """Stop every process of it where it stands."""
        await self._server.freeze()

    async def thaw(self) -> None:
        """Let it go on."""
        await self._server.thaw()

    async def kill(self) -> None:
        """End every process of it at once."""
        await self._server.kill()

    async def start(self) -> None:
        """Start it with its data; returns when it answers."""
        self._server.begin(self._command)
        await until_it_answers(
            self.name,
            partial(postgres_answers, self.url()),
            within_s=START_WITHIN_S,
            alive=lambda: self._server.runs,
            last_words=lambda: self._server.last_words,
        )


@asynccontextmanager
async def local_postgres(folder: Path) -> AsyncIterator[Postgres]:
    """Run one in `folder`, which the account of the servers must be able to enter.

    Raises:
        Unavailable: the programs are not installed.
        ServiceFailed: it does not start.
    """
    account = unprivileged()
    programs = await asyncio.to_thread(postgres_programs, account, folder)
    data = folder / "postgres"
    password_file = folder / "postgres.password"
    password = secrets.token_hex(16)
    data.mkdir(mode=0o700)
    password_file.touch(mode=0o600)
    password_file.write_text(password, encoding="ascii")
    if account:
        account.own(data)
        account.own(password_file)
    await asyncio.to_thread(_init, programs, data, password_file)
    server = Server("Postgres", folder / "postgres.log", account=account, ends=signal.SIGINT)  # fast shutdown
    postgres = LocalPostgres(programs, data, server, password)
    try:
        await postgres.start()
        yield postgres
    finally:
        await server.end()


def _init(programs: Path, data: Path, password_file: Path) -> None:
    account = unprivileged()
    command = [str(programs / "initdb"), "-D", str(data), "-U", USER, "--pwfile", str(password_file)]
    command += ["--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-instructions", "--no-sync"]
    try:
        done = subprocess.run(  # noqa: S603  # a program of the wheel, no shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=data.parent,
            env=ENVIRONMENT,
            timeout=INIT_TIMEOUT_S,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=() if account else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ServiceFailed(f"initdb cannot be run: {error}") from error
    if done.returncode != 0:
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        raise ServiceFailed(f"initdb failed: {lines[-1] if lines else done.returncode}")
