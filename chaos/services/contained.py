"""Postgres, Redis and Toxiproxy inside a container each.

Images are taken as their makers publish them; Postgres learns its port by the variable that it reads itself
(`PGPORT`), as images have entry points of their own. Not here: how a container is run (`container.py`).
"""

import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from chaos.services.answers import postgres_answers, redis_answers, toxiproxy_answers, until_it_answers
from chaos.services.container import Container, Recipe
from chaos.services.free_port import LOOPBACK, free_port
from chaos.services.service import Address

USER = "ktms"

START_WITHIN_S = 60.0
"""From the container's start to the first answer: three seconds for a new Postgres here."""


class ContainedPostgres:
    """A Postgres of one image; its disk is the container's."""

    def __init__(self, image: str) -> None:
        self.name = "Postgres (container)"
        self.address = Address(LOOPBACK, free_port())
        self._password = secrets.token_hex(16)
        settings = (f"listen_addresses={LOOPBACK}", "max_connections=200", "fsync=off")
        environment = {
            "POSTGRES_USER": USER,
            "POSTGRES_PASSWORD": self._password,
            "POSTGRES_DB": "postgres",
            "PGPORT": str(self.address.port),
        }
        command = ["postgres", *(part for setting in settings for part in ("-c", setting))]
        self.container = Container(Recipe(self.name, image, command, environment))

    def url(self, database: str = "postgres", *, through: Address | None = None) -> str:
        """Give the URL of a database, by way of a proxy."""
        return f"postgresql://{USER}:{self._password}@{through or self.address}/{database}"

    async def freeze(self) -> None:
        """Stop every process of it where it stands."""
        await self.container.freeze()

    async def thaw(self) -> None:
        """Let it go on."""
        await self.container.thaw()

    async def kill(self) -> None:
        """End every process of it at once."""
        await self.container.kill()

    async def start(self) -> None:
        """Start it, with its data if it had any; returns when it answers."""
        await self.container.start()
        await _until_it_answers(self.container, self.name, partial(postgres_answers, self.url()))


class ContainedRedis:
    """A Redis of one image; it writes what it holds to the container's disk before it answers."""

    def __init__(self, image: str) -> None:
        self.name = "Redis (container)"
        self.address = Address(LOOPBACK, free_port())
        self._password = secrets.token_hex(16)
        command = [
            *("redis-server", "--bind", LOOPBACK, "--port", str(self.address.port)),
            *("--save", "", "--appendonly", "yes", "--appendfsync", "no", "--requirepass", self._password),
        ]
        self.container = Container(Recipe(self.name, image, command))

    def url(self, *, through: Address | None = None) -> str:
        """Give its URL, by way of a proxy."""
        return f"redis://:{self._password}@{through or self.address}/0"

    async def freeze(self) -> None:
        """Stop it where it stands."""
        await self.container.freeze()

    async def thaw(self) -> None:
        """Let it go on."""
        await self.container.thaw()

    async def kill(self) -> None:
        """End it at once."""
        await self.container.kill()

    async def start(self, *, empty: bool = False) -> None:
        """Start it with what it held, or `empty`; returns when it answers."""
        if empty:
            await self.container.remove()
        await self.container.start()
        await _until_it_answers(self.container, self.name, partial(redis_answers, self.url()))


class ContainedToxiproxy:
    """A Toxiproxy server of one image."""

    def __init__(self, image: str) -> None:
        self.name = "Toxiproxy (container)"
        self.address = Address(LOOPBACK, free_port())
        command = ["-host", LOOPBACK, "-port", str(self.address.port)]
        self.container = Container(Recipe(self.name, image, command))

    async def start(self) -> None:
        """Start it; returns when it answers."""
        await self.container.start()
        await _until_it_answers(self.container, self.name, partial(toxiproxy_answers, self.address))


async def _until_it_answers(container: Container, name: str, ask: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it answers, or until there is nobody left to ask."""

    async def answers() -> bool:
        if await ask():
            return True
        await container.must_run()
        return False

    await until_it_answers(name, answers, within_s=START_WITHIN_S)
