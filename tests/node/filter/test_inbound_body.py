"""Bodies: too large, too slow, broken, and those that wait for leave.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python.
"""

import json

import pytest

from ktms.node.filter.bounds import Bounds
from tests.api.wire_client import Wire, connected
from tests.node.filter.gate import ASKED, BEARER, Gate, chat, gate_of, head_of

CHUNKED = f"POST /v1/chat/completions HTTP/1.1\r\nHost: node\r\n{BEARER}\r\nTransfer-Encoding: chunked\r\n"


async def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent() -> None:
    async with gate_of(bounds=Bounds(body_max_bytes=1000)) as gate, connected(gate.port) as wire:
        await wire.send(chat(b"x" * 1001)[:-1001])
        answer = await wire.answer()
        assert (answer.status, answer.code, answer.headers["connection"]) == (413, "request_too_large", "close")


async def test_a_body_of_chunks_that_grows_too_large_is_refused_before_it_ends() -> None:
    async with gate_of(bounds=Bounds(body_max_bytes=1000)) as gate, connected(gate.port) as wire:
        head = chat().partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
        await wire.send(head, b"258\r\n" + b"x" * 600 + b"\r\n", b"258\r\n" + b"x" * 600 + b"\r\n")
        assert (await wire.answer()).status == 413
        assert gate.engine.heads == []


async def test_all_bodies_together_have_a_bound_and_the_end_of_a_call_makes_room() -> None:
    body = json.dumps(ASKED).encode().ljust(700)
    async with gate_of(bounds=Bounds(bodies_max_bytes=1000)) as gate, connected(gate.port) as first:
        await first.send(chat(body))
        asked = await gate.engine.asked()
        async with connected(gate.port) as second:
            await second.send(chat(body))
            answer = await second.answer()
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "overloaded", "1")
        await asked.answer(b"{}")
        assert (await first.answer()).status == 200
        async with connected(gate.port) as third:
            await third.send(chat(body))
            await (await gate.engine.asked()).answer(b"{}")
            assert (await third.answer()).status == 200


async def test_a_body_that_comes_too_slowly_is_refused() -> None:
    async with gate_of(bounds=Bounds(body_s=0.05)) as gate, connected(gate.port) as wire:
        await wire.send(chat()[:-1])
        assert (await wire.answer()).status == 408
        assert gate.state.under_way == 0


async def test_a_sender_that_waits_for_leave_gets_it_when_its_head_is_accepted(gate: Gate) -> None:
    whole = chat(ASKED, "Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    async with connected(gate.port) as wire:
        await wire.send(head + b"\r\n\r\n")
        assert await head_of(wire) == b"HTTP/1.1 100 Continue\r\n\r\n"
        await wire.send(body)
        await (await gate.engine.asked()).answer(b"{}")
        assert (await wire.answer()).status == 200


async def test_another_expectation_is_not_met(gate: Gate) -> None:
    assert (await gate.refuses(chat(ASKED, "Expect: cake"))).status == 417


async def begun(wire: Wire) -> None:
    """Send a head, and wait until its handler waits for the body."""
    await wire.send(CHUNKED.encode() + b"Expect: 100-continue\r\n\r\n")
    assert await head_of(wire) == b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.parametrize("chunk", [b"zz\r\n", b"-1\r\n", b"5\r\nhelloXX", b"5;a=b\nhello\r\n"])
async def test_a_body_that_breaks_while_it_is_read_is_refused_at_once(gate: Gate, chunk: bytes) -> None:
    async with connected(gate.port) as wire:
        await begun(wire)
        await wire.send(chunk + b"x" * 100)
        answer = await wire.answer()
        assert (answer.status, answer.headers["connection"]) == (400, "close")
        assert await wire.ended()
    assert gate.engine.heads == []


async def test_a_sender_that_leaves_in_the_middle_of_its_body_is_forgotten(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await begun(wire)
        assert gate.state.under_way == 1
        wire.fin()
        assert await wire.ended()
    assert gate.state.under_way == 0
