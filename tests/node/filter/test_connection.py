"""Connections: slow and gigantic heads, crowds, idle clients.

`test_both_parsers.py` runs this file once more with aiohttp's parser in Python.
"""

import pytest

from ktms.node.filter.bounds import Bounds
from ktms.node.filter.connection import FIELD_MAX_BYTES, LINE_MAX_BYTES
from ktms.node.filter.target import HEADERS_MAX
from tests.api.wire_client import connected
from tests.node.filter.gate import BEARER, Gate, chat, gate_of, models, streamed

SHORT = Bounds(head_s=0.05)


@pytest.mark.parametrize("sent", [b"", b"G", b"GET /v1/models HTTP/1.1\r\n", models()[:-2]])
async def test_a_head_that_does_not_end_ends_its_connection(sent: bytes) -> None:
    async with gate_of(bounds=SHORT) as gate, connected(gate.port) as wire:
        await wire.send(sent)
        assert await wire.ended()


async def test_the_second_head_of_a_connection_has_its_deadline_too() -> None:
    async with gate_of(bounds=SHORT) as gate, connected(gate.port) as wire:
        await wire.send(models())
        assert (await wire.answer()).status == 200
        await wire.send(b"GET /v1")
        assert await wire.ended()


async def test_a_running_answer_is_not_cut_by_the_deadline_of_heads() -> None:
    async with gate_of(bounds=SHORT) as gate, connected(gate.port) as wire:
        await wire.send(streamed())
        asked = await gate.engine.asked()
        async with connected(gate.port) as other:
            assert await other.ended()  # the same time has passed for both
        await asked.answer(b"{}")
        assert (await wire.answer()).status == 200


async def test_a_connection_without_a_request_ends() -> None:
    async with gate_of(bounds=Bounds(idle_s=0.05)) as gate, connected(gate.port) as wire:
        await wire.send(models())
        assert (await wire.answer()).status == 200
        assert await wire.ended()


GIGANTIC = {
    "a target": models(line=b"GET /v1/models?" + b"x" * LINE_MAX_BYTES + b" HTTP/1.1"),
    "a value": models("X-A: " + "x" * 2 * FIELD_MAX_BYTES),
    "a name": models("X" * 2 * FIELD_MAX_BYTES + ": a"),
    "many headers": models(*(f"X-{number}: a" for number in range(HEADERS_MAX))),
    "a head without an end": b"GET /v1/models HTTP/1.1\r\nX-A: " + b"x" * (1 << 20),
}


@pytest.mark.parametrize("row", GIGANTIC)
async def test_a_gigantic_head_is_refused(gate: Gate, row: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(GIGANTIC[row])
        assert (await wire.answer()).status == 400
        assert await wire.ended()


async def test_a_length_of_thousands_of_digits_ends_its_connection(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n{BEARER}\r\n".encode())
        await wire.send(b"Content-Length: " + b"9" * 4000 + b"\r\n\r\n")
        assert (await wire.rest())[:12] in {b"", b"HTTP/1.1 400"}
    assert gate.engine.heads == []


async def test_beyond_the_largest_number_of_connections_none_is_taken() -> None:
    bounds = Bounds(connections_max=2)
    async with gate_of(bounds=bounds) as gate, connected(gate.port) as first, connected(gate.port) as second:
        for wire in (first, second):
            await wire.send(models())
            assert (await wire.answer()).status == 200
        async with connected(gate.port) as third:
            assert await third.ended()
        await first.send(models())
        assert (await first.answer()).status == 200


async def test_a_client_that_takes_nothing_of_its_answer_is_cut_off_and_the_engine_left() -> None:
    async with gate_of(bounds=Bounds(stall_s=0.05)) as gate, connected(gate.port) as wire:
        wire._reader._transport.pause_reading()  # type: ignore[attr-defined]
        await wire.send(chat())
        asked = await gate.engine.asked()
        with pytest.raises(ConnectionError):
            await asked.answer(b"x" * (1 << 26))
        assert await asked.left()
    assert gate.state.under_way == 0
