"""The way back: dates, and pings where they may stand."""

import pytest

from ktms.node.filter.way_back import PING, Dates
from tests.api.wire_client import connected
from tests.node.filter.gate import EVENT, PINGING, begun, chat, gate_of, head_of, piece_of, streamed


def test_the_date_is_made_once_a_second() -> None:
    times = iter([0.0, 0.9, 1.0])
    dates = Dates(lambda: next(times))
    assert [dates.text() for _ in range(3)] == ["Thu, 01 Jan 1970 00:00:00 GMT"] * 2 + [
        "Thu, 01 Jan 1970 00:00:01 GMT"
    ]


async def test_an_engine_that_is_silent_before_its_head_is_covered_by_pings() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire:
        await wire.send(streamed())
        asked = await gate.engine.asked()
        assert b"text/event-stream" in await head_of(wire)
        assert [await piece_of(wire), await piece_of(wire)] == [PING, PING]
        await asked.begin_events()
        await asked.piece(EVENT)
        while (piece := await piece_of(wire)) == PING:
            pass
        assert piece == EVENT


async def test_an_engine_that_is_silent_between_events_is_covered_by_pings() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire:
        asked = await begun(gate, wire)
        await asked.piece(EVENT)
        pieces = [await piece_of(wire) for _ in range(3)]
        assert pieces.count(EVENT) == 1
        assert pieces[-1] == PING


@pytest.mark.parametrize(
    "half", [b"data: half", b"data: half\n", b"data: half\r\n", b"data: half\r\n\r", b"\r\nx\n\r"]
)
async def test_a_ping_never_stands_within_an_event(half: bytes) -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire, connected(gate.port) as clock:
        asked = await begun(gate, wire)
        await asked.piece(half)
        while await piece_of(wire) != half:
            pass
        await begun(gate, clock)
        for _ in range(3):
            assert await piece_of(clock) == PING  # time passes for both streams
        await asked.piece(b"\n\n")
        assert await piece_of(wire) == b"\n\n"
        assert await piece_of(wire) == PING


async def test_an_event_that_ends_in_several_pieces_is_seen_to_end() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire:
        asked = await begun(gate, wire)
        for byte in (b"x", b"\r", b"\n", b"\r", b"\n"):
            await asked.piece(byte)
            while (piece := await piece_of(wire)) == PING:
                pass
            assert piece == byte
        assert await piece_of(wire) == PING


async def test_a_whole_answer_gets_no_pings() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire, connected(gate.port) as clock:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await begun(gate, clock)
        assert [await piece_of(clock) for _ in range(3)] == [PING] * 3
        await asked.answer(b"{}")
        assert (await wire.answer()).body == b"{}"
