"""A real Postgres from a wheel: TCP on loopback with scram, its data kept in a folder.

    async with EmbeddedPostgres(folder, entropy=entropy) as postgres:
        ... postgres.dsn ...

A second process on the same folder is refused; a server that outlived its parent (killed where no death signal
exists) is stopped first. `initdb` works in a folder beside, renamed when done: a half-made one is never used.
"""

import asyncio
import shutil
import signal
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ktms.adapters.embedded.account import Account, account_for
from ktms.adapters.embedded.binaries import postgres_programs
from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.folder import (
    check_reachable,
    give_to,
    locked,
    make_folder,
    read_or_make_password,
    write_private,
)
from ktms.adapters.embedded.launch import Launch, end_orphan, launch
from ktms.adapters.embedded.process import ServerProcess, run, start
from ktms.adapters.embedded.tcp_port import LOOPBACK
from ktms.ports.entropy import Entropy

USER = "ktms"
DATABASE = "postgres"

START_TIMEOUT_S = 60.0
"""A start takes 0.1 s; recovery after a power cut may take most of a minute on a slow disk."""

INITDB_TIMEOUT_S = 120.0
"""Takes 1 s here; emulated or very slow machines need far more."""

SIGNALS = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0))
"""Fast shutdown, then immediate shutdown (Postgres documentation, "Shutting Down the Server")."""

CONNECTIONS_MAX = 100
"""The gateway needs 25, its ledger and a person with psql a few more."""

NOT_DURABLE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""For tests: a power cut may destroy the data, nothing else may."""


class EmbeddedPostgres:
    """Runs while the context is open. `port` None: any free one; else that one or the next free after it."""

    def __init__(
        self,
        folder: Path,
        *,
        entropy: Entropy,
        password_file: Path | None = None,
        port: int | None = None,
        durable: bool = True,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._folder = folder.absolute()
        self._data = self._folder / "postgres"
        self._log = self._folder / "postgres.log"
        self._password_file = password_file or self._folder / "postgres.password"
        self._entropy = entropy
        self._wanted_port = port
        self._durable = durable
        self._connections_max = connections_max
        self._password = ""
        self._port = 0
        self._process: ServerProcess | None = None
        self._opened = AsyncExitStack()

    @property
    def dsn(self) -> str:
        """Where to connect, password included: never log it."""
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        """Give the address of another database of this server."""
        return f"postgresql://{USER}:{self._password}@{LOOPBACK}:{self._port}/{database}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._port

    @property
    def pid(self) -> int:
        """Process id of the running server."""
        assert self._process, "only while it runs"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the server is alive."""
        return self._process is not None and self._process.running

    async def __aenter__(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            EmbeddedFailed: with one line that says why.
        """
        async with AsyncExitStack() as opened:
            make_folder(self._folder)
            opened.enter_context(locked(self._folder / "postgres.lock"))
            account = account_for(self._data)
            check_reachable(self._folder, account)
            programs = await asyncio.to_thread(postgres_programs, account, self._folder)
            await self._prepare_data(programs, account)
            await self._stop_orphan()
            self._process, self._port = await launch(
                Launch(
                    "Postgres",
                    self._log,
                    START_TIMEOUT_S,
                    partial(self._begin, programs / "postgres", account),
                    self._ready,
                    _reason,
                ),
                self._wanted_port,
            )
            opened.push_async_callback(self._process.stop)
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()

    async def _prepare_data(self, programs: Path, account: Account | None) -> None:
        exists = self._data.exists()
        self._password = read_or_make_password(self._password_file, self._entropy, must_exist=exists)
        if exists:
            await self._check_version(programs / "postgres")
        else:
            await asyncio.to_thread(self._init, programs / "initdb", account)

    async def _check_version(self, program: Path) -> None:
        printed = await asyncio.to_thread(
            run,
            [program, "--version"],
            name="postgres",
            cwd=self._folder,
            account=None,
            timeout_s=INITDB_TIMEOUT_S,
        )
        ours = printed.split()[-1].split(".")[0]
        try:
            theirs = (self._data / "PG_VERSION").read_text(encoding="ascii").strip()
        except OSError as error:
            raise EmbeddedFailed(f"{self._data} is not a Postgres data folder: move it away") from error
        if theirs != ours:
            raise EmbeddedFailed(
                f"{self._data} holds data of Postgres {theirs}, but this is Postgres {ours}: dump it with "
                f"version {theirs} and restore it into a new data folder"
            )

    def _init(self, program: Path, account: Account | None) -> None:
        unfinished = self._folder / "postgres.new"
        password = self._folder / "postgres.initdb"
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(mode=0o700)
            give_to(unfinished, account)
            write_private(password, self._password)
            give_to(password, account)
            command: list[str | Path] = [program, "-D", unfinished, "-U", USER, "--pwfile", password]
            command += ["--auth=scram-sha-256", "-E", "UTF8", "--locale=C", "--no-instructions"]
            run(
                command if self._durable else [*command, "--no-sync"],
                name="initdb",
                cwd=self._folder,
                account=account,
                timeout_s=INITDB_TIMEOUT_S,
            )
            unfinished.rename(self._data)
        except OSError as error:
            raise EmbeddedFailed(f"{self._data} cannot be made: {error.strerror}") from error
        finally:
            password.unlink(missing_ok=True)

    async def _stop_orphan(self) -> None:
        """End a server left over by a killed parent; we hold the lock, so nobody else owns it."""
        found = self._pid_file()
        if found and found[0].isdigit():
            await end_orphan(
                int(found[0]), str(self._data), signal.SIGINT, name="Postgres", timeout_s=START_TIMEOUT_S
            )

    def _pid_file(self) -> list[str]:
        try:
            return (self._data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []

    def _begin(self, program: Path, account: Account | None, port: int) -> ServerProcess:
        settings = [
            f"listen_addresses={LOOPBACK}",
            f"port={port}",
            "unix_socket_directories=",
            f"max_connections={self._connections_max}",
            "logging_collector=off",
            *(() if self._durable else NOT_DURABLE),
        ]
        command = [program, "-D", self._data, *(part for setting in settings for part in ("-c", setting))]
        return start(command, name="postgres", log=self._log, account=account, signals=SIGNALS)

    async def _ready(self, process: ServerProcess, _port: int) -> bool:
        """Read the state that pg_ctl also reads: line 8 of the pid file."""
        lines = self._pid_file()
        return len(lines) >= 8 and lines[0].strip() == str(process.pid) and lines[7].strip() == "ready"


def _reason(log: str) -> str:
    fatal = [line for line in log.splitlines() if "FATAL:" in line or "PANIC:" in line]
    return fatal[-1].split("FATAL:")[-1].split("PANIC:")[-1].strip() if fatal else ""
