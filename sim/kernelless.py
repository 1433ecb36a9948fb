"""A loop without a kernel below: what asyncio asks an operating system for, answered from within the world.

Names and connections come from the network of the world, functions for threads run in the loop, signals are calls
of the scenario. Not here: callbacks, timers and tasks (`loop.py`).
"""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

T = TypeVar("T")


class Wires(Protocol):
    """What the loop needs of a network. The host that asks is that of the running context."""

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """Give the addresses of a name.

        Raises:
            socket.gaierror: the name is not known.
        """
        ...

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection.

        Raises:
            OSError: it could not be opened.
        """
        ...

    def listen(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str | None, port: int
    ) -> asyncio.AbstractServer:
        """Open a port; 0 asks for a free one.

        Raises:
            OSError: it is taken, or the address is not ours.
        """
        ...

    def listen_for_owner(self, host: str | None, port: int) -> "Watched":
        """Open a port whose owner takes connections itself; 0 asks for a free one.

        Raises:
            OSError: it is taken, or the address is not ours.
        """
        ...

    def close(self) -> None:
        """End with the world."""
        ...


class Watched(Protocol):
    """A listening socket of the network, as far as the loop knows it."""

    def watch(self, owner: Callable[[], object] | None) -> bool:
        """Tell this one while somebody waits, or nobody; gives whether somebody was told before."""
        ...


class Connected(Protocol):
    """A connection that its owner took."""

    def serve(self, factory: Callable[[], asyncio.BaseProtocol]) -> tuple[Any, Any]:
        """Hand it to a protocol; gives both.

        Raises:
            OSError: its client has gone already.
        """
        ...


class KernellessLoop(asyncio.BaseEventLoop):
    """The part of the loop that others would ask a kernel for. `network` is set before anybody connects."""

    network: Wires

    def run_in_executor(self, executor: object, func: Callable[..., T], *args: object) -> asyncio.Future[T]:
        """Run a function in the next round: there are no threads."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        self.call_soon(_run_into, future, func, args)
        return future

    def add_reader(self, fd: Watched, callback: Callable[..., object], *args: object) -> None:  # type: ignore[override]  # there are no other files
        """Call whenever somebody waits at a listening socket of the network."""
        fd.watch(partial(callback, *args))

    def remove_reader(self, fd: Watched) -> bool:  # type: ignore[override]  # as above
        """Do not call any more."""
        return fd.watch(None)

    async def connect_accepted_socket(  # type: ignore[override]  # as above
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], sock: Connected
    ) -> tuple[Any, Any]:
        """Hand a connection that was taken to a protocol.

        Raises:
            OSError: its client has gone already.
        """
        return sock.serve(protocol_factory)

    def add_signal_handler(self, sig: int, callback: Callable[..., object], *args: object) -> None:
        """Do nothing: a signal is a call of the scenario."""

    def remove_signal_handler(self, sig: int) -> bool:
        """Do nothing."""
        del sig
        return False

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,  # noqa: A002 - asyncio's name for it
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Ask the network for the addresses of a name."""
        del family, proto, flags
        name = host.decode() if isinstance(host, bytes) else host or "localhost"
        kind = type or socket.SOCK_STREAM
        found = self.network.resolve(name, int(port or 0))
        return [(socket.AF_INET, kind, socket.IPPROTO_TCP, "", address) for address in found]

    async def create_connection(  # type: ignore[override]  # of the many overloads, what our code and libraries use
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str,
        port: int,
        *,
        ssl: object = None,
        sock: object = None,
        **rest: object,
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection from the running host; what `rest` asks of a kernel is ignored.

        Raises:
            ValueError: TLS or a ready-made socket was asked for.
            OSError: it could not be opened.
        """
        del rest
        _refuse_kernel(ssl, sock)
        return await self.network.connect(protocol_factory, host, port)

    async def create_server(  # type: ignore[override]  # as above
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: object = None,
        sock: object = None,
        **rest: object,
    ) -> asyncio.AbstractServer:
        """Open a port of the running host; what `rest` asks of a kernel is ignored.

        Raises:
            ValueError: TLS or a ready-made socket was asked for.
            OSError: the port is taken, or the address is not ours.
        """
        del rest
        _refuse_kernel(ssl, sock)
        return self.network.listen(protocol_factory, host, port or 0)


def _run_into(future: asyncio.Future[T], work: Callable[..., T], args: tuple[object, ...]) -> None:
    if future.cancelled():
        return
    try:
        future.set_result(work(*args))
    except Exception as error:  # noqa: BLE001 - it belongs to whoever waits for the result
        future.set_exception(error)


def _refuse_kernel(ssl: object, sock: object) -> None:
    if ssl:
        _no("TLS has chance of its own that no seed reaches")
    if sock is not None:
        _no("there are no sockets")


def _no(reason: str) -> NoReturn:
    raise ValueError(f"not in a simulated world: {reason}")
