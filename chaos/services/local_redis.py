"""A Valkey of this machine, which speaks as Redis does, in a folder that is gone afterwards.

It writes what it holds to a file before it answers, so that `start` gives back what `kill` interrupted: a server
that comes back with its old counters and one that comes back empty are two different faults.
"""

import asyncio
import secrets
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from chaos.services.account import unprivileged
from chaos.services.answers import redis_answers, until_it_answers
from chaos.services.free_port import LOOPBACK, free_port
from chaos.services.programs import valkey_program
from chaos.services.server import Server
from chaos.services.service import Address, Redis

START_WITHIN_S = 20.0
"""Takes 0.1 s; what an experiment writes is read back in far less than this."""

KEPT = "appendonlydir"
"""The folder in which it keeps what it holds (its setting `appenddirname`)."""


class LocalRedis:
    """Made by `local_redis`."""

    def __init__(self, program: Path, data: Path, server: Server) -> None:
        self.name = "Valkey (local)"
        self.address = Address(LOOPBACK, free_port())
        self._password = secrets.token_hex(16)
        self._data = data
        self._server = server
        self._command: list[str | Path] = [
            *(program, "--dir", data, "--bind", LOOPBACK, "--port", str(self.address.port)),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"),
            *("--daemonize", "no", "--set-proc-title", "no", "-"),
        ]

    def url(self, *, through: Address | None = None) -> str:
        """Give its URL, by way of a proxy."""
        return f"redis://:{self._password}@{through or self.address}/0"

    async def freeze(self) -> None:
        """Stop it where it stands."""
        await self._server.freeze()

    async def thaw(self) -> None:
        """Let it go on."""
        await self._server.thaw()

    async def kill(self) -> None:
        """End it at once."""
        await self._server.kill()

    async def start(self, *, empty: bool = False) -> None:
        """Start it with what it held, or `empty`; returns when it answers."""
        if empty:
            await asyncio.to_thread(shutil.rmtree, self._data / KEPT, ignore_errors=True)
        self._server.begin(self._command, config=f"requirepass {self._password}\n")
        await until_it_answers(
            self.name,
            partial(redis_answers, self.url()),
            within_s=START_WITHIN_S,
            alive=lambda: self._server.runs,
            last_words=lambda: self._server.last_words,
        )


@asynccontextmanager
async def local_redis(folder: Path) -> AsyncIterator[Redis]:
    """Run one in `folder`, which the account of the servers must be able to enter.

    Raises:
        Unavailable: the program is not installed.
        ServiceFailed: it does not start.
    """
    account = unprivileged()
    program = await asyncio.to_thread(valkey_program, account, folder)
    data = folder / "redis"
    data.mkdir(mode=0o700)
    if account:
        account.own(data)
    server = Server("Valkey", folder / "redis.log", account=account, ends=signal.SIGTERM)
    redis = LocalRedis(program, data, server)
    try:
        await redis.start()
        yield redis
    finally:
        await server.end()
