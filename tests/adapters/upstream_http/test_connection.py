"""One connection: the lazy timer, reading and writing in step with the peer, socket options."""

import asyncio
import math
import socket

import pytest

from ktms.adapters.upstream_http.connection import SLICE_BYTES, Connection
from tests.adapters.upstream_http.scripted import Peer, Serve, answer, passed, until


class User:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.expired_at: list[float] = []
        self.received_bytes = 0
        self.gone = asyncio.Event()

    def received(self, data: bytes) -> None:
        self.received_bytes += len(data)

    def lost(self, error: Exception | None) -> None:
        assert error is None
        self.gone.set()

    def expired(self, now: float) -> None:
        self.expired_at.append(now)
        self.gone.set()

    def shut_down(self) -> None:
        self.gone.set()


async def connected(port: int) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(loop, lambda _: None), "127.0.0.1", port)
    return connection


async def waiting(peer: Peer) -> None:
    await peer.gone()


async def test_small_packets_leave_at_once_and_silence_is_probed(serve: Serve) -> None:
    connection = await connected((await serve(waiting)).origin.port)
    sock = connection._open_transport().get_extra_info("socket")
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    connection.abort()


async def test_a_deadline_moved_back_costs_no_new_handle(serve: Serve) -> None:
    connection = await connected((await serve(waiting)).origin.port)
    user = User()
    connection.start(user, b"x", b"")
    now = connection.loop.time()
    connection.watch(now + 1.0)
    handle = connection._timer
    for step in range(100):
        connection.watch(now + 1.0 + step)
    assert connection._timer is handle
    connection.watch(now + 0.5)
    assert connection._timer is not handle
    connection.abort()


async def test_a_deadline_that_was_moved_is_kept(serve: Serve) -> None:
    connection = await connected((await serve(waiting)).origin.port)
    user = User()
    connection.start(user, b"x", b"")
    now = connection.loop.time()
    connection.watch(now + 0.02)
    connection.watch(now + 0.08)
    await user.gone.wait()
    assert len(user.expired_at) == 1
    assert user.expired_at[0] >= now + 0.08
    connection.abort()


async def test_who_has_left_hears_nothing_more(serve: Serve) -> None:
    connection = await connected((await serve(waiting)).origin.port)
    user = User()
    connection.start(user, b"x", b"")
    connection.watch(connection.loop.time() + 0.01)
    connection.leave()
    await passed(0.03)
    assert user.expired_at == []
    assert connection._timer is None, "an old handle finds nothing to do and is gone"
    connection.abort()


async def test_a_large_body_is_buffered_one_slice_at_a_time(serve: Serve) -> None:
    read_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await read_on.wait()
        await peer.request()
        await peer.send(answer())

    connection = await connected((await serve(script)).origin.port)
    user = User()
    body = b"x" * (64 << 20)
    connection.start(user, b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body), body)
    for _ in range(20):
        await asyncio.sleep(0)
    assert connection._open_transport().get_write_buffer_size() <= 2 * SLICE_BYTES
    read_on.set()
    assert connection.flushed is False
    await until(lambda: user.received_bytes > 0)
    await until(lambda: connection.flushed)
    connection.abort()


async def test_a_paused_connection_takes_nothing_until_resumed(serve: Serve) -> None:
    sent = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.reader.readexactly(1)
        await peer.send(b"data")
        sent.set()
        await peer.gone()

    connection = await connected((await serve(script)).origin.port)
    user = User()
    connection.pause()
    connection.pause()
    connection.start(user, b"x", b"")
    await sent.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert user.received_bytes == 0
    connection.resume()
    await until(lambda: user.received_bytes > 0)
    connection.abort()
    connection.pause()
    connection.resume()


async def test_a_lost_connection_has_no_timer_and_no_parser(serve: Serve) -> None:
    lost: list[Connection] = []
    loop = asyncio.get_running_loop()
    port = (await serve(waiting)).origin.port
    _, connection = await loop.create_connection(lambda: Connection(loop, lost.append), "127.0.0.1", port)
    user = User()
    connection.start(user, b"x", b"")
    connection.watch(loop.time() + 100)
    connection.abort()
    await user.gone.wait()
    assert lost == [connection]
    assert (connection.lost, connection.usable, connection._timer) == (True, False, None)
    assert connection.reader._parser is None
    assert connection._due == math.inf


async def test_two_users_at_once_are_our_mistake(serve: Serve) -> None:
    connection = await connected((await serve(waiting)).origin.port)
    connection.start(User(), b"x", b"")
    with pytest.raises(AssertionError):
        connection.start(User(), b"x", b"")
    connection.abort()
