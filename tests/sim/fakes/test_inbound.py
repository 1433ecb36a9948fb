import asyncio

import pytest

from ktms.api.inbound import Inbound
from ktms.api.wire import Reply
from sim.fakes.inbound import (
    BETWEEN_MAX_BYTES,
    HIGH_WATER_BYTES,
    LOW_WATER_BYTES,
    PortConnection,
    PortInbound,
    serve,
)
from sim.seed import Seed
from tests.sim.fakes.virtual import run

BODY = b'{"model":"small"}'
FULL = b"x" * (HIGH_WATER_BYTES + BETWEEN_MAX_BYTES + 1)
"""More than all buffers of any connection."""


class Taker:
    """A client that keeps what came."""

    def __init__(self, seed: int = 1) -> None:
        self.data = b""
        self.ended = False
        self.connection = PortConnection(self, Seed(seed).chance())
        self.request = PortInbound("POST", "/v1/x", ((b"Host", b"gw1"),), BODY, self.connection)

    def received(self, data: bytes) -> None:
        self.data += data

    def lost(self) -> None:
        self.ended = True

    def write(self, data: bytes) -> None:
        assert self.request.transport is not None
        self.request.transport.write(data)


def test_a_request_is_whole_and_its_body_is_given_once() -> None:
    request: Inbound = Taker().request
    assert (request.method, request.raw_path, request.content_length) == ("POST", "/v1/x", len(BODY))
    assert request.content.is_eof()
    assert [request.content.read_nowait(), request.content.read_nowait()] == [BODY, b""]


def test_a_client_that_reads_has_each_piece_at_once() -> None:
    taker = Taker()
    taker.write(b"one ")
    taker.write(b"two")
    assert (taker.data, taker.connection.writing_paused) == (b"one two", False)


def test_a_client_that_does_not_read_pauses_the_writing_in_the_end() -> None:
    taker = Taker()
    taker.connection.stop_reading()
    taker.write(b"x" * HIGH_WATER_BYTES)
    before = taker.connection.writing_paused
    taker.write(FULL)
    assert (before, taker.connection.writing_paused, taker.data) == (False, True, b"")


def test_what_lies_between_is_drawn() -> None:
    def room(seed: int) -> int:
        taker = Taker(seed)
        taker.connection.stop_reading()
        written = 0
        while not taker.connection.writing_paused:
            taker.write(b"x" * 1024)
            written += 1024
        return written

    rooms = [room(seed) for seed in range(10)]
    assert len(set(rooms)) > 5
    assert rooms[3] == room(3)
    assert min(rooms) > HIGH_WATER_BYTES
    assert max(rooms) <= len(FULL) + 1024


def test_draining_waits_until_the_client_reads_on() -> None:
    async def work() -> list[float]:
        taker, loop = Taker(), asyncio.get_running_loop()
        taker.connection.stop_reading()
        taker.write(FULL)
        loop.call_later(2, taker.connection.read_on)
        began_at = loop.time()
        await taker.request.writer.drain()
        assert taker.data == FULL
        return [loop.time() - began_at]

    assert run(work) == [2.0]


def test_reading_a_part_makes_room_for_more_only_below_the_low_mark() -> None:
    taker = Taker()
    taker.connection.stop_reading()
    taker.write(FULL)
    taker.connection.take(taker.connection.buffered_bytes - LOW_WATER_BYTES - 1)
    before = taker.connection.writing_paused
    taker.connection.take(1)
    assert (before, taker.connection.writing_paused) == (True, False)


def test_order_is_kept_when_a_client_reads_again_in_parts() -> None:
    taker = Taker()
    taker.connection.stop_reading()
    taker.write(b"abc")
    taker.connection.take(1)
    taker.write(b"def")
    taker.connection.read_on()
    taker.write(b"g")
    assert taker.data == b"abcdefg"


def test_a_client_that_left_is_written_to_in_vain_and_waited_for_no_more() -> None:
    async def work() -> object:
        taker = Taker()
        transport = taker.request.transport
        assert transport is not None
        taker.connection.stop_reading()
        taker.write(FULL)
        asyncio.get_running_loop().call_later(1, taker.connection.leave)
        await taker.request.writer.drain()
        transport.write(b"late")
        return [taker.data, taker.request.transport, transport.is_closing(), taker.ended]

    assert run(work) == [b"", None, True, False]


def test_an_abort_ends_the_connection_and_loses_what_was_not_read() -> None:
    async def work() -> object:
        taker = Taker()
        taker.connection.stop_reading()
        taker.write(FULL)
        assert taker.request.transport is not None
        taker.request.transport.abort()
        at_once = taker.ended
        await asyncio.sleep(1)
        taker.connection.read_on()
        return [at_once, taker.ended, taker.request.transport, taker.data]

    assert run(work) == [False, True, None, b""]


def test_a_close_waits_for_what_was_not_read() -> None:
    async def work() -> list[bool]:
        taker = Taker()
        taker.connection.stop_reading()
        taker.write(b"rest")
        assert taker.request.transport is not None
        taker.request.transport.close()
        taker.request.transport.close()
        await asyncio.sleep(1)
        before = taker.ended
        taker.connection.read_on()
        return [before, taker.ended, taker.data == b"rest"]

    assert run(work) == [False, True, True]


@pytest.mark.parametrize("keeps", [True, False])
def test_a_reply_is_sent_whole_and_the_connection_kept_as_it_says(keeps: bool) -> None:
    async def handler(request: Inbound) -> Reply:
        return Reply(200, b"head ", request.content.read_nowait(), keeps)

    async def work() -> object:
        taker = Taker()
        reply = await serve(handler, taker.request, 60)
        await asyncio.sleep(0)
        return [taker.data, taker.ended, reply.status, reply.body]

    assert run(work) == [b"head " + BODY, not keeps, 200, None]


def test_a_client_that_takes_nothing_of_a_whole_answer_is_cut_off() -> None:
    async def handler(request: Inbound) -> Reply:
        return Reply(200, b"", FULL, keeps=True)

    async def work() -> object:
        taker, loop = Taker(), asyncio.get_running_loop()
        taker.connection.stop_reading()
        began_at = loop.time()
        await serve(handler, taker.request, 60)
        await asyncio.sleep(0)
        return [loop.time() - began_at, taker.ended]

    assert run(work) == [60.0, True]
