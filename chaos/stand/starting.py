"""How a stand comes to run: the environment of each gateway, the schema, the processes, the first catalogue.

Not here: what the parts are (`stand.py`), their ends.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.services.free_port import free_port
from chaos.services.service import Services
from chaos.stand import settings as parts
from chaos.stand.databases import Databases
from chaos.stand.gateway import Gateway, Place
from chaos.stand.ledger import Ledger
from chaos.stand.process import KTMS, ProcessFailed, environment, few_files, run, unguarded
from chaos.stand.settings import StandSettings
from chaos.stand.ways import Ways


@dataclass(frozen=True, slots=True)
class Starting:
    """What the environment of each gateway is made of."""

    settings: StandSettings
    services: Services
    ways: Ways
    names: Databases
    folder: Path
    owner: str
    keyring: str

    def place(self, name: str) -> Place:
        """Give a replica its place."""
        home = self.folder / name
        home.mkdir()
        command = unguarded(self.settings.unguarded) if self.settings.unguarded else (KTMS,)
        if self.settings.files_max:
            command = (*few_files(self.settings.files_max), *command)
        return Place(name, free_port(), free_port(), home, self._variables(name, home), self.owner, command)

    def _variables(self, name: str, home: Path) -> Mapping[str, str]:
        settings = self.settings
        variables = {
            "KTMS_DATABASE_URL": self.services.postgres.url(
                self.names.gateway, through=self.ways.of(parts.POSTGRES, name).listens
            ),
            "KTMS_REDIS_URL": self.services.redis.url(through=self.ways.of(parts.REDIS, name).listens),
            "KTMS_LEDGER_ADDR": str(self.ways.of(parts.LEDGER, name).listens),
            "KTMS_ENCRYPTION_KEYS": self.keyring,
            "KTMS_BOOTSTRAP_ADMIN_KEY": self.owner,
            "KTMS_NODE_ALLOWED_CIDRS": "127.0.0.0/8",
            "KTMS_DRAIN_DELAY_S": f"{settings.drain_delay_s:g}",
            "KTMS_SHUTDOWN_TIMEOUT_S": f"{settings.shutdown_timeout_s:g}",
            "KTMS_KEY_WINDOW_S": str(settings.key_window_s),
            "KTMS_REDIS_TIMEOUT_MS": str(settings.redis_timeout_ms),
        }
        if settings.spool and name not in settings.memory_only:
            variables["KTMS_SPOOL_DIR"] = str(home / "spool")
        if settings.news_apart:
            variables["KTMS_DATABASE_DIRECT_URL"] = self.services.postgres.url(
                self.names.gateway, through=self.ways.of(parts.NEWS, name).listens
            )
        if name in settings.saved:
            variables["KTMS_SNAPSHOT_FILE"] = str(home / "snapshot")
        return {**variables, **settings.variables}

    async def migrate(self) -> None:
        """Bring the gateways' database to what this release needs.

        Raises:
            ProcessFailed: the command fails.
        """
        variables = {"KTMS_DATABASE_URL": self.services.postgres.url(self.names.gateway)}
        done = await run((KTMS, "migrate"), environment(self.folder, variables), self.folder)
        if done.code:
            raise ProcessFailed(f"ktms migrate ended with {done.code}: {done.err}")


async def start_all(gateways: tuple[Gateway, ...], ledger: Ledger, starting: Starting) -> None:
    """Start all processes; the schema first, since all of them would bring it themselves.

    Raises:
        ProcessFailed: one does not start.
    """
    async with _failing_as_one():
        async with asyncio.TaskGroup() as starts:
            starts.create_task(ledger.start())
            starts.create_task(starting.migrate())
        async with asyncio.TaskGroup() as starts:
            for gateway in gateways:
                starts.create_task(gateway.start())
    await gateways[0].process.wait_ready(lambda: _has_database(gateways[0]))


@asynccontextmanager
async def _failing_as_one() -> AsyncIterator[None]:
    """Give the first failure of several for all of them."""
    try:
        yield
    except* ProcessFailed as failed:
        first = failed.exceptions[0]
        raise ProcessFailed(str(first)) from first


async def _has_database(gateway: Gateway) -> bool:
    """Whether it has its database, and so its owner; without a catalogue it serves nothing yet."""
    _, said = await gateway.readyz()
    return said.get("reasons") in ([], ["no_snapshot"])


async def declare(gateway: Gateway, path: Path) -> None:
    """Apply a file.

    Raises:
        ProcessFailed: it is refused.
    """
    done = await gateway.ktms("apply", "-f", path)
    if done.code:
        raise ProcessFailed(f"ktms apply ended with {done.code}: {done.err}")
