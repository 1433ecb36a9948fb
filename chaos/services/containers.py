"""Services as containers, where a Docker engine of this machine answers.

    KTMS_CHAOS_IMAGE_POSTGRES    default postgres:18
    KTMS_CHAOS_IMAGE_REDIS       default redis:7
    KTMS_CHAOS_IMAGE_TOXIPROXY   no default: release 2.12 or newer, by the name its makers give it

Their servers listen on the loopback of this machine, so an engine elsewhere is of no use.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from chaos.services.contained import ContainedPostgres, ContainedRedis, ContainedToxiproxy
from chaos.services.container import engine_missing
from chaos.services.service import Postgres, Redis, ToxiproxyServer, Unavailable

IMAGE_POSTGRES = "KTMS_CHAOS_IMAGE_POSTGRES"
IMAGE_REDIS = "KTMS_CHAOS_IMAGE_REDIS"
IMAGE_TOXIPROXY = "KTMS_CHAOS_IMAGE_TOXIPROXY"


class Containers:
    """The source; `variables` is the environment."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.name = "containers"
        self._variables = variables

    async def ready(self) -> str | None:
        """Give None, or one line that says why nothing comes from here."""
        return await asyncio.to_thread(engine_missing)

    @asynccontextmanager
    async def postgres(self) -> AsyncIterator[Postgres]:
        """Run a Postgres."""
        postgres = ContainedPostgres(self._variables.get(IMAGE_POSTGRES) or "postgres:18")
        try:
            await postgres.start()
            yield postgres
        finally:
            await postgres.container.remove()

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Redis]:
        """Run a Redis."""
        redis = ContainedRedis(self._variables.get(IMAGE_REDIS) or "redis:7")
        try:
            await redis.start()
            yield redis
        finally:
            await redis.container.remove()

    @asynccontextmanager
    async def toxiproxy(self) -> AsyncIterator[ToxiproxyServer]:
        """Run a Toxiproxy server."""
        image = self._variables.get(IMAGE_TOXIPROXY)
        if not image:
            raise Unavailable(f"{IMAGE_TOXIPROXY} names no image")
        toxiproxy = ContainedToxiproxy(image)
        try:
            await toxiproxy.start()
            yield toxiproxy
        finally:
            await toxiproxy.container.remove()
