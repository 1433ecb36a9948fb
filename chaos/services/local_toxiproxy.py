"""A Toxiproxy server of this machine, from PATH or built by this project."""

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from chaos.services.answers import toxiproxy_answers, until_it_answers
from chaos.services.free_port import LOOPBACK, free_port
from chaos.services.programs import toxiproxy_program
from chaos.services.server import Server
from chaos.services.service import Address

START_WITHIN_S = 20.0
"""Takes 0.1 s."""


class LocalToxiproxy:
    """Made by `local_toxiproxy`. It can be frozen too: whoever drives it must survive that."""

    def __init__(self, address: Address, server: Server) -> None:
        self.name = "Toxiproxy (local)"
        self.address = address
        self._server = server

    async def freeze(self) -> None:
        """Stop it where it stands."""
        await self._server.freeze()

    async def thaw(self) -> None:
        """Let it go on."""
        await self._server.thaw()


@asynccontextmanager
async def local_toxiproxy(folder: Path) -> AsyncIterator[LocalToxiproxy]:
    """Run one, its log in `folder`.

    Raises:
        Unavailable: the program is neither on PATH nor built.
        ServiceFailed: it does not start.
    """
    address = Address(LOOPBACK, free_port())
    server = Server("Toxiproxy", folder / "toxiproxy.log", ends=signal.SIGTERM)
    toxiproxy = LocalToxiproxy(address, server)
    try:
        server.begin([toxiproxy_program(), "-host", address.host, "-port", str(address.port)])
        await until_it_answers(
            toxiproxy.name,
            partial(toxiproxy_answers, address),
            within_s=START_WITHIN_S,
            alive=lambda: server.runs,
            last_words=lambda: server.last_words,
        )
        yield toxiproxy
    finally:
        await server.end()
