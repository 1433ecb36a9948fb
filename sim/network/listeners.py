"""Open ports that take by themselves: who listens where, as `loop.create_server` gives it back.

Not here: connecting (`network.py`), ports whose owner takes connections (`accept_queue.py`).
"""

import asyncio
import socket
from collections.abc import Callable
from contextvars import Context

from sim.hosts import HOST, name_of
from sim.network.side import Side

Factory = Callable[[], asyncio.BaseProtocol]


class ListeningSocket:
    """What can be asked of a socket that is none: the address."""

    __slots__ = ("_address",)

    family = socket.AF_INET
    type = socket.SOCK_STREAM
    proto = socket.IPPROTO_TCP

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address

    def getsockname(self) -> tuple[str, int]:
        """Give address and port."""
        return self._address


class Listener(asyncio.AbstractServer):
    """One open port of one incarnation. `is_local`: only its own host can reach it."""

    def __init__(
        self,
        factory: Factory,
        context: Context,
        address: tuple[str, int],
        *,
        is_local: bool,
        loop: asyncio.AbstractEventLoop,
        on_close: Callable[["Listener"], None],
    ) -> None:
        self.factory = factory
        self.context = context
        self.incarnation = context.get(HOST, "")
        self.address = address
        self.is_local = is_local
        self.is_open = True
        self._loop = loop
        self._on_close = on_close

    @property
    def key(self) -> tuple[str, int]:
        """Give the host's name and the port."""
        return name_of(self.incarnation), self.address[1]

    @property
    def sockets(self) -> tuple[ListeningSocket, ...]:
        """Give what stands for its socket; nothing once it is closed."""
        return (ListeningSocket(self.address),) if self.is_open else ()

    def arrived(self, side: Side) -> None:
        """Hand a connection to a protocol of its own."""
        try:
            side.begin(self.factory())
        except Exception as error:  # noqa: BLE001 - asyncio's contract: reported, and the connection ends
            self._loop.call_exception_handler({"message": "Error on transport creation", "exception": error})
            side.break_off()
            side.peer.break_off()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Give the loop."""
        return self._loop

    def is_serving(self) -> bool:
        """Whether it takes connections."""
        return self.is_open

    def close(self) -> None:
        """Take no more connections; those that are open go on."""
        if self.is_open:
            self.is_open = False
            self._on_close(self)

    async def start_serving(self) -> None:
        """Do nothing: it serves from the start."""

    async def serve_forever(self) -> None:
        """Wait until cancelled, then close."""
        try:
            await self._loop.create_future()
        finally:
            self.close()

    async def wait_closed(self) -> None:
        """Do nothing: closing takes no time."""
