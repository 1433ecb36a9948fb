"""What the contract of clients does not say: the bytes on the wire, and what aiohttp is told."""

import asyncio

import pytest

from ktms.adapters.memory.upstream import Head, Wait
from tests.api.house import House, chat
from tests.api.wire_client import connected
from tests.engine.rig import EVENTS, stream
from tests.world.events import DONE, C, F


async def test_every_write_is_one_chunk_and_leaves_at_once(house: House) -> None:
    gate = asyncio.Event()
    house.says("alpha", (Head(200, EVENTS), C("a"), Wait(gate), C("b"), F("stop"), DONE))
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
    writer.write(chat(stream=True))
    head = await reader.readuntil(b"\r\n\r\n")
    assert b"\r\nTransfer-Encoding: chunked\r\n" in head
    first = await reader.readuntil(b"\n\n\r\n")
    size, _, rest = first.partition(b"\r\n")
    assert int(size, 16) == len(rest) - 2
    assert b'"a"' in rest
    gate.set()
    assert (await reader.readuntil(b"\r\n0\r\n\r\n")).count(b'"b"') == 1
    writer.transport.abort()


@pytest.mark.parametrize(("version", "stays"), [(b"HTTP/1.1", True), (b"HTTP/1.0", False)])
async def test_a_connection_stays_where_the_end_of_a_stream_can_be_seen(
    house: House, version: bytes, stays: bool
) -> None:
    house.says("alpha", stream("a"))
    async with connected(house.port) as wire:
        sent = chat("Connection: keep-alive", stream=True).replace(b"HTTP/1.1", version)
        await wire.send(sent)
        answer = await wire.answer()
        assert answer.headers.get("connection") == (None if stays else "close")
        if stays:
            await wire.send(sent)
            assert (await wire.answer()).status == 200
        else:
            assert await wire.ended()


async def test_a_client_that_wants_to_close_after_a_stream_is_let_go(house: House) -> None:
    house.says("alpha", stream("a"))
    async with connected(house.port) as wire:
        await wire.send(chat("Connection: close", stream=True))
        assert (await wire.answer()).headers["connection"] == "close"
        assert await wire.ended()


async def test_proxies_are_told_not_to_hold_a_stream_back(house: House) -> None:
    house.says("alpha", stream("a"))
    headers = (await house.chat(stream=True)).headers
    assert (headers["x-accel-buffering"], headers["cache-control"]) == ("no", "no-cache")
    assert "content-length" not in headers
