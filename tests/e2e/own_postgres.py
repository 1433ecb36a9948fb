"""A Postgres that one module may stop, hang and start again, and calls with the time they took."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import psutil

from ktms.adapters.embedded.postgres_server import EmbeddedPostgres
from ktms.adapters.system.entropy import SystemEntropy
from tests.e2e import declared
from tests.e2e.http import CHAT, Answer, ask, saying
from tests.e2e.ports import any_port
from tests.e2e.serve_process import Replica
from tests.e2e.waiting import now, until


class Postgres:
    """A Postgres of this module's own, always on the same port, that can be stopped, hung and started."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._server = EmbeddedPostgres(
            folder, entropy=SystemEntropy(), durable=False, port=any_port(), connections_max=50
        )

    def start(self) -> None:
        self._runner.run(self._server.__aenter__())

    def stop(self) -> None:
        self._runner.run(self._server.__aexit__(None, None, None))

    @property
    def url(self) -> str:
        return self._server.dsn

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].partition("/")[0])

    @property
    def running(self) -> bool:
        return self._server.running

    def sql(self, statement: str) -> list[asyncpg.Record]:
        """Run one statement on a connection of its own; empty where none is to be had."""

        async def ask() -> list[asyncpg.Record]:
            connection = await asyncpg.connect(self.url)
            try:
                return list(await connection.fetch(statement))
            finally:
                await connection.close()

        return self._runner.run(ask())

    @contextmanager
    def holding(self, table: str, mode: str) -> Iterator[None]:
        """Lock a table, as somebody else's transaction does; a server that dies meanwhile lets go."""

        async def lock() -> asyncpg.Connection:
            connection = await asyncpg.connect(self.url)
            await connection.execute(f"begin; lock table {table} in {mode} mode")
            return connection

        held = self._runner.run(lock())
        try:
            yield
        finally:
            held.terminate()

    def die(self) -> None:
        """Let a process of the server die: it drops every connection and recovers from its log."""
        (victim,) = self.sql("select pid from pg_stat_activity where backend_type = 'walwriter'")
        psutil.Process(victim["pid"]).kill()

    @contextmanager
    def hung(self) -> Iterator[None]:
        """SIGSTOP to every process of it: connections are taken by the kernel and nobody answers."""
        main = psutil.Process(self._server.pid)
        everybody = [main, *main.children(recursive=True)]
        for process in everybody:
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in everybody:
                process.send_signal(signal.SIGCONT)


@dataclass
class Seen:
    """One answer and how long it took."""

    answer: Answer
    seconds: float


def chat(replica: Replica, key: str, model: str = declared.CLOUD) -> Seen:
    began_at = now()
    answer = ask(replica.url, CHAT, key=key, body=saying("hi", model=model))
    return Seen(answer, now() - began_at)


def seconds_until(fact: Callable[[], object], what: str, within_s: float) -> float:
    began_at = now()
    until(fact, what, within_s)
    return now() - began_at
