"""A real Valkey (Redis-compatible) from a wheel: TCP on loopback with a password, nothing kept on disk.

No persistence on purpose: what it holds (leases, counters, cache) is rebuilt or expires, and a counter that came
back from an old file would be worse than none. The password reaches it on standard input, never as an argument.
"""

import asyncio
import signal
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from ktms.adapters.embedded.account import Account, account_for
from ktms.adapters.embedded.binaries import valkey_program
from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.folder import check_reachable, give_to, locked, make_folder, read_or_make_password
from ktms.adapters.embedded.launch import Launch, end_orphan, launch
from ktms.adapters.embedded.process import ServerProcess, start
from ktms.adapters.embedded.tcp_port import LOOPBACK
from ktms.ports.entropy import Entropy

START_TIMEOUT_S = 20.0
"""A start takes 0.1 s; there is nothing to load."""

ANSWER_TIMEOUT_S = 1.0
"""A server on this machine answers within milliseconds once it listens."""

SIGNALS = ((signal.SIGTERM, 5.0),)
"""It ends at once, having nothing to save."""


MEMORY_MAX = "512mb"
"""Kept answers would fill the machine. Those that end soonest go first; leases have no end of their own."""


class EmbeddedValkey:
    """Runs while the context is open. `port` None: any free one; else that one or the next free after it."""

    def __init__(
        self, folder: Path, *, entropy: Entropy, password_file: Path | None = None, port: int | None = None
    ) -> None:
        self._folder = folder.absolute()
        self._place = self._folder / "valkey"
        self._log = self._folder / "valkey.log"
        self._pid_file = self._folder / "valkey.pid"
        self._password_file = password_file or self._folder / "valkey.password"
        self._entropy = entropy
        self._wanted_port = port
        self._password = ""
        self._port = 0
        self._process: ServerProcess | None = None
        self._opened = AsyncExitStack()

    @property
    def url(self) -> str:
        """Where to connect, password included: never log it."""
        return f"redis://:{self._password}@{LOOPBACK}:{self._port}/0"

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
        """Start it and wait until it answers to its password.

        Raises:
            EmbeddedFailed: with one line that says why.
        """
        async with AsyncExitStack() as opened:
            make_folder(self._folder)
            opened.enter_context(locked(self._folder / "valkey.lock"))
            account = account_for(self._place)
            check_reachable(self._folder, account)
            self._password = read_or_make_password(self._password_file, self._entropy, must_exist=False)
            self._prepare_place(account)
            program = await asyncio.to_thread(valkey_program, account, self._folder)
            await self._stop_orphan()
            self._process, self._port = await launch(
                Launch(
                    "Valkey",
                    self._log,
                    START_TIMEOUT_S,
                    partial(self._begin, program, account),
                    self._answers,
                    _reason,
                ),
                self._wanted_port,
            )
            opened.push_async_callback(self._process.stop)
            self._pid_file.write_text(str(self._process.pid), encoding="ascii")
            self._opened = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._opened.aclose()
        self._pid_file.unlink(missing_ok=True)

    def _prepare_place(self, account: Account | None) -> None:
        try:
            self._place.mkdir(mode=0o700, exist_ok=True)
            give_to(self._place, account)
        except OSError as error:
            raise EmbeddedFailed(f"{self._place} cannot be made: {error.strerror}") from error

    async def _stop_orphan(self) -> None:
        """End a server left over by a killed parent; we hold the lock, so nobody else owns it."""
        try:
            pid = int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return
        await end_orphan(pid, str(self._place), signal.SIGTERM, name="Valkey", timeout_s=START_TIMEOUT_S)

    def _begin(self, program: Path, account: Account | None, port: int) -> ServerProcess:
        command: list[str | Path] = [program, "--dir", self._place, "--bind", LOOPBACK, "--port", str(port)]
        command += ["--maxmemory", MEMORY_MAX, "--maxmemory-policy", "volatile-ttl"]
        command += ["--save", "", "--appendonly", "no", "--daemonize", "no", "--set-proc-title", "no", "-"]
        config = f"requirepass {self._password}\n"
        return start(command, name="valkey", log=self._log, account=account, signals=SIGNALS, config=config)

    async def _answers(self, _process: ServerProcess, port: int) -> bool:
        """Ask with our password, so that a stranger on the port is not taken for it."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                reader, writer = await asyncio.open_connection(LOOPBACK, port)
                try:
                    writer.write(f"AUTH {self._password}\r\n".encode())
                    return await reader.readline() == b"+OK\r\n"
                finally:
                    writer.close()
                    await writer.wait_closed()
        except (OSError, TimeoutError):
            return False


def _reason(log: str) -> str:
    lines = log.strip().splitlines()
    return lines[-1].strip() if lines else ""
