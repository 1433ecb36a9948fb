"""Ports: several connections in a turn, none without descriptors, nothing left behind."""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator
from typing import cast

import pytest

from ktms.api.port import PAUSE_S, TAKEN_MAX, Port, listening_socket, open_port

PATIENCE_S = 10.0


class Hello(asyncio.Protocol):
    """Says hello to whoever comes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        way_back = cast("asyncio.Transport", transport)  # uvloop's has no base
        way_back.write(b"hello")
        way_back.close()


async def opened_at(number: int, *, backlog: int = 10, reuse_port: bool = False) -> Port:
    return await open_port(
        Hello, "127.0.0.1", number, listen=listening_socket, backlog=backlog, reuse_port=reuse_port
    )


@pytest.fixture
async def own() -> AsyncIterator[Port]:
    opened = await opened_at(0, backlog=1024)
    yield opened
    opened.close()
    await opened.wait_closed()


async def said(number: int, host: str = "127.0.0.1") -> bytes:
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(host, number)
        try:
            return await reader.read()
        finally:
            writer.close()


async def test_a_port_serves_until_it_is_closed() -> None:
    port = await opened_at(0)
    assert await said(port.number) == b"hello"
    port.close()
    await port.wait_closed()
    with pytest.raises(ConnectionRefusedError):
        await said(port.number)


async def test_an_address_that_is_taken_is_refused(own: Port) -> None:
    with pytest.raises(OSError, match="in use"):
        await opened_at(own.number)


async def test_a_port_may_be_shared_by_processes() -> None:
    first = await opened_at(0, reuse_port=True)
    second = await opened_at(first.number, reuse_port=True)
    assert await said(first.number) == b"hello"
    for port in (first, second):
        port.close()


async def test_closing_twice_is_harmless(own: Port) -> None:
    own.close()
    own.close()
    await own.wait_closed()


async def test_fg6_whoever_waits_in_the_queue_is_taken_in_one_turn(own: Port) -> None:
    clients = [socket.create_connection(("127.0.0.1", own.number)) for _ in range(TAKEN_MAX)]
    (listening,) = own._sockets
    own._ready(listening)
    assert len(own._taking) == TAKEN_MAX
    for client in clients:
        client.close()


class Exhausted:
    """A socket that cannot give a connection the first time it is asked."""

    def __init__(self, listening: socket.socket, number: int) -> None:
        self._listening = listening
        self._number = number
        self.tries = 0

    def accept(self) -> tuple[socket.socket, object]:
        self.tries += 1
        if self.tries == 1:
            raise OSError(self._number, "none left")
        return self._listening.accept()

    def fileno(self) -> int:
        return self._listening.fileno()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
async def test_fg8_without_descriptors_a_port_pauses_and_goes_on(own: Port, number: int) -> None:
    (listening,) = own._sockets
    exhausted = Exhausted(listening, number)
    began_at = asyncio.get_running_loop().time()
    own._ready(exhausted)  # type: ignore[arg-type]  # all of a socket that is asked of it
    assert exhausted.tries == 1
    assert await said(own.number) == b"hello"
    assert asyncio.get_running_loop().time() - began_at > PAUSE_S - 0.002  # uvloop counts whole milliseconds
    assert exhausted.tries > 1


async def test_a_port_that_pauses_can_be_closed(own: Port) -> None:
    (listening,) = own._sockets
    own._ready(Exhausted(listening, errno.EMFILE))  # type: ignore[arg-type]  # as above
    own.close()
    assert not own._paused


async def test_another_error_of_a_socket_is_not_hidden(own: Port) -> None:
    class Broken:
        def accept(self) -> tuple[socket.socket, object]:
            raise OSError(errno.EBADF, "no socket")

    with pytest.raises(OSError, match="no socket"):
        own._ready(Broken())  # type: ignore[arg-type]


async def test_a_client_that_has_gone_already_disturbs_nobody(own: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: object) -> None:
        raise ConnectionResetError

    here, there = socket.socketpair()
    loop = own._loop
    monkeypatch.setattr(own, "_loop", type("Loop", (), {"connect_accepted_socket": staticmethod(gone)}))
    await own._take(here)
    monkeypatch.setattr(own, "_loop", loop)
    assert here.fileno() == -1
    there.close()
