"""Contract of `ktms/ports/client.py`: the clients in memory and a real one behind a socket.

A peer is whoever waits for the answer; it sees what came, and may stop reading.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.clock import SystemClock
from ktms.api.inbound import Inbound
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.openai.stream_client import StreamClient
from ktms.api.wire import Dates, Reply
from ktms.ports.client import Client
from sim.fakes.inbound import PortConnection, PortInbound
from sim.seed import Seed
from tests.world.client import RawClient, get, post
from tests.world.real import RealGround

HEADERS = (("X-Request-Id", "id-1"), ("X-KTMS-Model", "small"))
PIECE = b"data: %b\n\n" % (b"x" * 50_000)
PIECES_MAX = 2_000
"""A hundred megabytes: more than all buffers of two sockets."""


class Peer(Protocol):
    """One client as the engine sees it, and what arrives there."""

    @property
    def client(self) -> Client: ...
    async def header(self, name: str) -> str | None: ...
    async def body(self) -> bytes:
        """Give all that came, once it has ended, however it did."""
        ...

    async def is_cut(self) -> bool:
        """Tell, once it has ended, whether it ended without a clean end."""
        ...

    def stop_reading(self) -> None: ...
    def read_on(self) -> None: ...
    async def leave(self) -> None: ...


class PeerInMemory:
    def __init__(self) -> None:
        self.client = self._memory = MemoryClient()
        self._left = False

    async def header(self, name: str) -> str | None:
        assert self._memory.headers is not None
        return dict(self._memory.headers).get(name)

    async def body(self) -> bytes:
        return self._memory.body

    async def is_cut(self) -> bool:
        return not self._memory.ended

    def stop_reading(self) -> None:
        self._memory.stop_reading()

    def read_on(self) -> None:
        self._memory.read_on()

    async def leave(self) -> None:
        self._memory.drop()


class PeerAtASocket:
    def __init__(self, client: StreamClient, raw: RawClient) -> None:
        self.client = client
        self._raw = raw
        self._head: dict[str, str] | None = None

    async def header(self, name: str) -> str | None:
        if self._head is None:
            self._head = dict((await self._raw.head()).headers)
        return self._head.get(name)

    async def body(self) -> bytes:
        return await self._raw.body()

    async def is_cut(self) -> bool:
        await self._raw.body()
        return self._raw.cut

    def stop_reading(self) -> None:
        self._raw.stop_reading()

    def read_on(self) -> None:
        self._raw.read_on()

    async def leave(self) -> None:
        self._raw.leave()
        await self._raw.closed()


class PeerAtAPort(PeerAtASocket):
    """The client of a level without connections: the same reader, given the bytes by hand."""

    def __init__(self) -> None:
        self._connection = PortConnection(self, Seed(1).chance())
        request = PortInbound("POST", "/", (), b"{}", self._connection)
        super().__init__(StreamClient(request, Dates(SystemClock())), RawClient(RealGround()))

    def received(self, data: bytes) -> None:
        self._raw.data_received(data)

    def lost(self) -> None:
        self._raw.connection_lost(None)

    def stop_reading(self) -> None:
        self._connection.stop_reading()

    def read_on(self) -> None:
        self._connection.read_on()

    async def leave(self) -> None:
        self._connection.leave()


@asynccontextmanager
async def at_a_socket(request_bytes: bytes) -> AsyncIterator[PeerAtASocket]:
    """Serve one request whose handler lends its client to the test, and ends with it."""
    dates, over = Dates(SystemClock()), asyncio.Event()
    lent: asyncio.Future[StreamClient] = asyncio.get_running_loop().create_future()

    async def handler(request: Inbound) -> Reply:
        client = StreamClient(request, dates)
        lent.set_result(client)
        await over.wait()
        return client.reply()

    listener = Listener({"/": {"GET": handler, "POST": handler}}, dates, ListenerSettings(), MemoryTelemetry())
    port = await listener.start("127.0.0.1", 0)
    ground = RealGround()
    raw = await ground.connect("127.0.0.1", port, lambda: RawClient(ground))
    raw.send(request_bytes)
    try:
        yield PeerAtASocket(await lent, raw)
    finally:
        over.set()
        raw.leave()
        await listener.stop()


@pytest.fixture(params=["memory", "sim", "aiohttp", "fast lane"])
async def peer(request: pytest.FixtureRequest) -> AsyncIterator[Peer]:
    if request.param == "memory":
        yield PeerInMemory()
        return
    if request.param == "sim":
        yield PeerAtAPort()
        return
    # Of the port's two ways, a GET takes the general one, a POST the lane.
    async with at_a_socket(get("/") if request.param == "aiohttp" else post("/", b"{}")) as made:
        yield made


async def test_headers_come_before_the_first_byte(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    assert await peer.header("X-Request-Id") == "id-1"
    assert await peer.header("X-KTMS-Model") == "small"


async def test_what_is_written_arrives_in_order_and_whole(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    for number in range(100):
        assert peer.client.write(b"%d," % number)
    peer.client.end()
    assert await peer.body() == b"".join(b"%d," % number for number in range(100))


async def test_an_end_is_a_clean_end(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    peer.client.write(b"all")
    peer.client.end()
    assert not await peer.is_cut()


async def test_a_drop_is_no_clean_end(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    peer.client.write(b"part")
    assert await peer.header("X-Request-Id") == "id-1"
    peer.client.drop()
    assert await peer.is_cut()


async def choke(peer: Peer) -> bytes:
    """Write until the client takes no more; give what was written."""
    peer.stop_reading()
    written = 0
    while written < PIECES_MAX:
        written += 1
        if not peer.client.write(PIECE):
            return PIECE * written
        await asyncio.sleep(0)
    raise AssertionError("a client that does not read takes everything")


async def test_a_client_that_does_not_read_says_when_it_is_enough(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    await choke(peer)


async def test_drained_waits_until_the_client_reads_on(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    written = await choke(peer)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(peer.client.drained())
        await asyncio.sleep(0)
        assert not waiting.done()
        peer.read_on()
    assert peer.client.write(b"more")
    peer.client.end()
    assert await peer.body() == written + b"more"


async def test_drained_returns_at_once_where_there_is_room(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    peer.client.write(b"little")
    async with asyncio.timeout(5):
        await peer.client.drained()


async def test_a_client_that_is_choked_may_be_dropped(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    await choke(peer)
    peer.client.drop()
    peer.client.drop()


async def test_writing_to_a_client_that_has_left_is_no_error(peer: Peer) -> None:
    peer.client.begin(HEADERS)
    peer.client.write(b"part")
    await peer.leave()
    for _ in range(3):
        peer.client.write(b"more")
        await asyncio.sleep(0)
    peer.client.end()
