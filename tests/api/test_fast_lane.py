"""The fast lane: what it serves itself, what it hands over, and that nothing is lost on the way."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.clock import SystemClock
from ktms.api import fast_lane
from ktms.api.crowd import Crowd
from ktms.api.fast_lane import AHEAD_BYTES_MAX, FastLane, Lanes, hot_routes
from ktms.api.inbound import Inbound
from ktms.api.request_head import BODY_BYTES_MAX
from ktms.api.wire import Dates, Reply, whole
from tests.api.wire_client import Wire, connected, request, silent

FLOOD = bytes(16 * 1024 * 1024)
"""More than the system's buffers of a connection hold."""


class General(asyncio.Protocol):
    """What a connection is handed over to; keeps what it got."""

    def __init__(self) -> None:
        self.got = b""
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.got += data


class Lane:
    """A port with nothing but the lane, one hot route, and a general protocol that only listens."""

    def __init__(self, *, head_s: float = 10.0, idle_s: float = 60.0, stall_s: float = 60.0) -> None:
        self.dates = Dates(SystemClock())
        self.telemetry = MemoryTelemetry()
        self.handed: list[General] = []
        self.seen: list[bytes] = []
        self.hold = asyncio.Event()
        self.hold.set()
        hot = hot_routes(
            {
                "/hot": {"POST": self._serve},
                "/flood": {"POST": self._flood},
                "/broken": {"POST": self._break},
                "/cold": {"GET": self._serve},
            }
        )
        self.lanes = Lanes(
            hot=hot,
            dates=self.dates,
            telemetry=self.telemetry,
            crowd=Crowd(100),
            head_s=head_s,
            idle_s=idle_s,
            stall_s=stall_s,
        )
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: FastLane(self.lanes, self._general), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        await self.lanes.stop(0.2)
        for general in self.handed:
            if general.transport is not None:
                general.transport.close()

    def _general(self) -> General:
        self.handed.append(General())
        return self.handed[-1]

    async def until_handed(self) -> General:
        async with asyncio.timeout(10):
            while not self.handed:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)
        return self.handed[0]

    async def until_seen(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.seen) < count:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)

    async def _serve(self, inbound: Inbound) -> Reply:
        body = inbound.content.read_nowait()
        assert inbound.content.is_eof()
        assert inbound.content_length == len(body)
        self.seen.append(body)
        await self.hold.wait()
        return whole(inbound, self.dates, 200, body, content_type="text/plain")

    async def _flood(self, inbound: Inbound) -> Reply:
        self.seen.append(inbound.content.read_nowait())
        return whole(inbound, self.dates, 200, FLOOD, content_type="text/plain")

    async def _break(self, inbound: Inbound) -> Reply:
        raise ValueError("secret of " + inbound.raw_path)


@pytest.fixture
async def lane() -> AsyncIterator[Lane]:
    made = Lane()
    await made.start()
    yield made
    await made.stop()


def hot(body: bytes = b"{}", *headers: str, target: str = "/hot") -> bytes:
    return request(target, method="POST", headers=headers, body=body)


async def served(wire: Wire, body: bytes) -> None:
    answer = await wire.answer()
    assert (answer.status, answer.body) == (200, body)


async def test_a_whole_request_is_served_and_the_connection_kept(lane: Lane) -> None:
    async with connected(lane.port) as wire:
        for body in (b"one", b"", b"three"):
            await wire.send(hot(body))
            await served(wire, body)
    assert lane.handed == []


async def test_head_and_body_may_come_apart(lane: Lane) -> None:
    whole_request = hot(b"hello")
    at = whole_request.index(b"\r\n\r\n") + 4
    async with connected(lane.port) as wire:
        await wire.send(whole_request[:at], whole_request[at : at + 2], whole_request[at + 2 :])
        await served(wire, b"hello")
    assert lane.handed == []


async def test_requests_in_one_segment_are_answered_in_order(lane: Lane) -> None:
    async with connected(lane.port) as wire:
        await wire.send(hot(b"one") + hot(b"two") + hot(b"three"))
        for body in (b"one", b"two", b"three"):
            await served(wire, body)
    assert lane.seen == [b"one", b"two", b"three"]


async def test_a_client_that_wants_to_close_is_closed(lane: Lane) -> None:
    async with connected(lane.port) as wire:
        await wire.send(hot(b"last", "Connection: close"))
        answer = await wire.answer()
        assert answer.headers["connection"] == "close"
        assert await wire.ended()


ODD = {
    "another method": request("/hot", method="GET"),
    "another target": request("/cold", method="POST", body=b"x"),
    "a query": hot(target="/hot?x=1"),
    "an absolute target": hot(target="http://evil/hot"),
    "a coding": request("/hot", method="POST", headers=("Transfer-Encoding: chunked",)) + b"0\r\n\r\n",
    "an encoded body": hot(b"x", "Content-Encoding: gzip"),
    "an expectation": hot(b"x", "Expect: 100-continue"),
    "an upgrade": hot(b"x", "Connection: upgrade", "Upgrade: websocket"),
    "trailers announced": hot(b"x", "Trailer: X-Sum"),
    "a second host": hot(b"x", "Host: other"),
    "a second key": hot(b"x", "Authorization: Bearer a", "Authorization: Bearer b"),
    "two lengths": hot(b"x", "Content-Length: 1"),
    "no host": b"POST /hot HTTP/1.1\r\nContent-Length: 1\r\n\r\nx",
    "no length": b"POST /hot HTTP/1.1\r\nHost: a\r\n\r\n",
    "a signed length": b"POST /hot HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\nx",
    "a length of thousands of digits": hot(b"x").replace(b"Length: 1", b"Length: " + b"0" * 5000 + b"1"),
    "an older version": hot(b"x").replace(b"HTTP/1.1", b"HTTP/1.0"),
    "a newer version": hot(b"x").replace(b"HTTP/1.1", b"HTTP/2.0"),
    "too many headers": hot(b"x", *(f"X-{index}: 1" for index in range(101))),
    "a huge head": hot(b"x", "X-Long: " + "y" * 17_000),
    "a body too large for the lane": hot(b"x" * (BODY_BYTES_MAX + 1)),
    "bare line feeds": hot(b"x").replace(b"\r\n", b"\n"),
    "a folded header": hot(b"x", "X-A: 1\r\n 2"),
    "a space before the colon": hot(b"x", "X-A : 1"),
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
async def test_whatever_is_odd_is_handed_over_with_all_its_bytes(lane: Lane, odd: bytes) -> None:
    async with connected(lane.port) as wire:
        await wire.send(odd)
        general = await lane.until_handed()
        async with asyncio.timeout(10):
            while general.got != odd:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)
    assert lane.seen == []


async def test_after_a_hot_request_an_odd_one_in_the_same_segment_is_handed_over(lane: Lane) -> None:
    cold = request("/cold")
    async with connected(lane.port) as wire:
        await wire.send(hot(b"one") + cold + hot(b"two"))
        await served(wire, b"one")
        assert (await lane.until_handed()).got == cold + hot(b"two")
    assert lane.seen == [b"one"]


async def test_a_slow_body_is_handed_over(lane: Lane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_lane, "WHOLE_WITHIN_S", 0.05)
    part = hot(b"hello")[:-2]
    async with connected(lane.port) as wire:
        await wire.send(part)
        assert (await lane.until_handed()).got == part


async def test_a_slow_head_and_an_idle_connection_are_closed() -> None:
    for first in (b"", b"POST /hot HT", hot(b"x") + b"POST /hot HT"):
        lane = Lane(head_s=0.05, idle_s=0.1)
        await lane.start()
        async with connected(lane.port) as wire:
            if first:
                await wire.send(first)
            if first.startswith(hot(b"x")):
                await served(wire, b"x")
            assert await wire.ended()
        await lane.stop()


async def test_a_client_that_leaves_cancels_its_request(lane: Lane) -> None:
    lane.hold.clear()
    async with connected(lane.port) as wire:
        await wire.send(hot())
        await lane.until_seen(1)
        task = next(one.task for one in lane.lanes.open)
        assert task is not None
    async with asyncio.timeout(10):
        await asyncio.wait((task,))
    assert task.cancelled()
    assert not lane.lanes.open


async def test_a_mistake_of_ours_is_a_500_without_its_text(lane: Lane) -> None:
    async with connected(lane.port) as wire:
        await wire.send(hot(target="/broken"))
        answer = await wire.answer()
        assert (answer.status, answer.code) == (500, "internal_error")
        assert b"secret" not in answer.raw + answer.body
        assert await wire.ended()
    assert [event.name for event in lane.telemetry.events] == ["internal_error"]


async def test_what_is_sent_ahead_is_bounded(lane: Lane) -> None:
    lane.hold.clear()
    async with connected(lane.port) as wire:
        await wire.send(hot(b"first"))
        await lane.until_seen(1)
        connection = next(iter(lane.lanes.open))
        assert connection.transport is not None
        await wire.send(hot(b"y" * AHEAD_BYTES_MAX * 2))
        async with asyncio.timeout(10):
            while connection.transport.is_reading():  # noqa: ASYNC110 - a transport tells nobody
                await asyncio.sleep(0)
        lane.hold.set()
        await served(wire, b"first")
        await served(wire, b"y" * AHEAD_BYTES_MAX * 2)


async def test_nothing_is_read_while_requests_sent_ahead_wait(lane: Lane) -> None:
    count = 8 * AHEAD_BYTES_MAX // 1024
    lane.hold.clear()
    async with connected(lane.port) as wire, asyncio.TaskGroup() as sending:
        sending.create_task(wire.send(*(hot(b"y" * 1024) for _ in range(count))))
        await lane.until_seen(1)
        connection = next(iter(lane.lanes.open))
        assert connection.transport is not None
        async with asyncio.timeout(10):
            while connection.transport.is_reading():  # noqa: ASYNC110 - a transport tells nobody
                await asyncio.sleep(0)
        lane.hold.set()
        await lane.until_seen(2)
        assert not connection.transport.is_reading()
        for _ in range(count):
            await served(wire, b"y" * 1024)
    assert len(lane.seen) == count


async def test_while_a_client_does_not_read_its_next_request_waits(lane: Lane) -> None:
    async with connected(lane.port) as wire:
        await wire.send(hot(b"one", target="/flood") + hot(b"two"))
        await lane.until_seen(1)
        connection = next(iter(lane.lanes.open))
        async with asyncio.timeout(10):
            while not connection.writing_paused:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)
        assert lane.seen == [b"one"]
        await served(wire, FLOOD)
        await served(wire, b"two")


@pytest.mark.parametrize("wish", [(), ("Connection: close",)], ids=["kept", "closing"])
async def test_a_client_that_never_reads_is_cut_off(wish: tuple[str, ...]) -> None:
    lane = Lane(idle_s=0.1, stall_s=0.1)
    await lane.start()
    async with silent(lane.port, hot(b"x", *wish, target="/flood")):
        await lane.until_seen(1)
        async with asyncio.timeout(10):
            while lane.lanes.open:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)
    await lane.stop()


async def test_the_last_bytes_of_a_closed_connection_are_not_kept_for_good(lane: Lane) -> None:
    lane.lanes.stall_s = 0.1
    async with silent(lane.port, hot(b"x")):
        await lane.until_seen(1)
        connection = next(iter(lane.lanes.open))
        transport = connection.transport
        assert transport is not None
        transport.set_write_buffer_limits(2 * len(FLOOD))
        transport.write(FLOOD)
        connection.end_if_idle()
        assert lane.lanes.open
        async with asyncio.timeout(10):
            while lane.lanes.open:  # noqa: ASYNC110 - the lane knows nothing of this test
                await asyncio.sleep(0)


async def test_closing_ends_idle_connections_and_lets_running_requests_finish(lane: Lane) -> None:
    lane.hold.clear()
    async with connected(lane.port) as idle, connected(lane.port) as busy:
        await idle.send(hot(b"x")[:5])
        await busy.send(hot(b"long"))
        await lane.until_seen(1)
        lane.lanes.close()
        assert await idle.ended()
        lane.hold.set()
        await served(busy, b"long")
        assert await busy.ended()


@settings(deadline=None, max_examples=60)
@given(
    cuts=st.lists(st.integers(1, 240), max_size=8), bodies=st.lists(st.binary(max_size=40), min_size=1, max_size=3)
)
def test_however_the_bytes_are_cut_the_same_requests_are_served(cuts: list[int], bodies: list[bytes]) -> None:
    async def run() -> list[bytes]:
        lane = Lane()
        await lane.start()
        data = b"".join(hot(body) for body in bodies)
        marks = sorted({0, *(cut for cut in cuts if cut < len(data)), len(data)})
        async with connected(lane.port) as wire:
            await wire.send(*(data[start:end] for start, end in itertools.pairwise(marks)))
            for body in bodies:
                await served(wire, body)
        await lane.stop()
        assert lane.handed == []
        return lane.seen

    assert asyncio.run(run()) == bodies
