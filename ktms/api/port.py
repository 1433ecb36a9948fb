"""A port that clients connect to: several connections are taken in each turn of the loop, none without files.

libuv takes one connection in each turn of its loop. With thousands of calls a turn lasts a third of a second, so a
probe that stands in the kernel's queue behind a hundred clients would wait for half a minute (FG6); and without
descriptors it takes connections only to close them (FG8). So sockets are read here.
Rules: at most TAKEN_MAX in one turn; while there are no descriptors connections wait in the kernel's queue, and it
is looked again after PAUSE_S. Not here: what a connection does (`fast_lane.py`, `listener.py`).
"""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Protocol

TAKEN_MAX = 64
"""Connections in one turn: a few milliseconds, and a queue of a thousand is taken in sixteen turns."""

PAUSE_S = 0.1
"""How long an exhausted process waits before it looks again: no busy loop, and a probe does not notice."""

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""No descriptor or memory is free: ours or the system's."""

Factory = Callable[[], asyncio.Protocol]
Address = tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]
"""As `getaddrinfo` gives it."""


class Listen(Protocol):
    """Makes a socket that listens."""

    def __call__(self, family: int, address: Address, backlog: int, *, reuse_port: bool) -> socket.socket:
        """Make one.

        Raises:
            OSError: the address is taken or not ours.
        """
        ...


class Port:
    """Sockets that listen, and whose connections are taken here. `number` is that of the first."""

    def __init__(self, factory: Factory, sockets: list[socket.socket]) -> None:
        self.number = int(sockets[0].getsockname()[1])
        self._factory = factory
        self._loop = asyncio.get_running_loop()
        self._sockets = dict.fromkeys(sockets)
        self._paused: dict[socket.socket, asyncio.TimerHandle] = {}
        self._taking: dict[asyncio.Task[None], None] = {}
        for each in sockets:
            self._loop.add_reader(each, self._ready, each)

    def close(self) -> None:
        """Take no more connections; those that were taken go on, and twice is harmless."""
        for timer in self._paused.values():
            timer.cancel()
        self._paused.clear()
        for each in self._sockets:
            self._loop.remove_reader(each)
            each.close()
        self._sockets.clear()

    async def wait_closed(self) -> None:
        """Wait until nothing is left of it."""
        if self._taking:
            await asyncio.wait(tuple(self._taking))

    def _ready(self, listening: socket.socket) -> None:
        for _ in range(TAKEN_MAX):
            try:
                connection, _ = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in EXHAUSTED:
                    raise
                self._pause(listening)
                return
            connection.settimeout(0)
            task = self._loop.create_task(self._take(connection))
            self._taking[task] = None
            task.add_done_callback(self._taken)

    async def _take(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._factory, connection)
        except OSError:
            connection.close()  # its client has gone already

    def _taken(self, task: "asyncio.Task[None]") -> None:
        del self._taking[task]

    def _pause(self, listening: socket.socket) -> None:
        self._loop.remove_reader(listening)
        self._paused[listening] = self._loop.call_later(PAUSE_S, self._go_on, listening)

    def _go_on(self, listening: socket.socket) -> None:
        del self._paused[listening]
        self._loop.add_reader(listening, self._ready, listening)


async def open_port(
    factory: Factory, host: str, port: int, *, listen: Listen, backlog: int, reuse_port: bool
) -> Port:
    """Listen on all addresses of a host.

    Raises:
        OSError: an address is taken or not ours.
    """
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((entry[0], entry[4]) for entry in found):
            sockets.append(listen(family, address, backlog, reuse_port=reuse_port))
    except OSError:
        for each in sockets:
            each.close()
        raise
    return Port(factory, sockets)


def listening_socket(family: int, address: Address, backlog: int, *, reuse_port: bool) -> socket.socket:
    """Make a socket of the kernel's; see `Listen`."""
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.settimeout(0)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(backlog)
    except OSError:
        listening.close()
        raise
    return listening
