"""Services as processes of this machine: Postgres and Valkey from wheels, Toxiproxy from PATH or built here."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from chaos.services.local_postgres import local_postgres
from chaos.services.local_redis import local_redis
from chaos.services.local_toxiproxy import LocalToxiproxy, local_toxiproxy
from chaos.services.service import Postgres, Redis


class Local:
    """The source; every service has a folder of its own that is gone afterwards."""

    def __init__(self) -> None:
        self.name = "local"

    async def ready(self) -> str | None:
        """Give None: what is missing is known only of each service."""
        return None

    @asynccontextmanager
    async def postgres(self) -> AsyncIterator[Postgres]:
        """Run a Postgres."""
        async with _folder() as folder, local_postgres(folder) as postgres:
            yield postgres

    @asynccontextmanager
    async def redis(self) -> AsyncIterator[Redis]:
        """Run a Valkey."""
        async with _folder() as folder, local_redis(folder) as redis:
            yield redis

    @asynccontextmanager
    async def toxiproxy(self) -> AsyncIterator[LocalToxiproxy]:
        """Run a Toxiproxy server."""
        async with _folder() as folder, local_toxiproxy(folder) as toxiproxy:
            yield toxiproxy


@asynccontextmanager
async def _folder() -> AsyncIterator[Path]:
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="ktms-chaos-"))
    await asyncio.to_thread(folder.chmod, 0o711)  # the account of the servers may enter it, nobody may list it
    try:
        yield folder
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
