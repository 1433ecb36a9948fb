"""The engine's leg: piece by piece, pings while it is silent, its errors, and who closes on whom."""

import pytest

from ktms.node.filter.bounds import Bounds
from ktms.node.filter.relay import RETRY_AFTER_MAX_DIGITS, Relay
from ktms.node.filter.way_back import PING
from tests.api.wire_client import Wire, ask, connected
from tests.node.filter.gate import EVENT, PINGING, Gate, begun, chat, gate_of, head_of, models, piece_of, streamed
from tests.node.filter.recording_engine import Asked


async def test_a_stream_is_passed_on_piece_by_piece_and_waits_for_none(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await begun(gate, wire)
        for piece in (b"data: 1\n\n", b"data: half", b" and half\n\n", b"data: [DONE]\n\n"):
            await asked.piece(piece)
            assert await piece_of(wire) == piece
        await asked.end()
        assert await piece_of(wire) == b""


async def test_the_head_of_a_stream_comes_before_its_first_piece(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(streamed())
        await (await gate.engine.asked()).begin_events()
        head = (await head_of(wire)).decode().lower()
    assert "200 ok" in head
    assert "content-type: text/event-stream\r\n" in head
    assert "x-ktms-node-state: ready" in head
    assert "x-engine" not in head


async def test_who_asks_for_a_stream_asks_the_engine_for_events(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await begun(gate, wire)
        assert "Accept: text/event-stream" in asked.lines
        await wire.send()


async def test_a_whole_answer_is_passed_on_as_it_is(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b'{ "id": 1 }', headers=("Server: x", "Set-Cookie: a=b"))
        answer = await wire.answer()
    assert answer.body == b'{ "id": 1 }'
    assert set(answer.headers) == {"date", "content-type", "content-length", "x-ktms-node-state"}


async def test_a_whole_answer_in_chunks_is_passed_on(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await asked.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        await asked.piece(b'{"a"')
        await asked.piece(b":1}")
        await asked.end()
        assert (await wire.answer()).json == {"a": 1}


ERRORS = ["400 Bad Request", "404 Not Found", "422 x", "424 x", "429 x", "499 x", "500 x", "503 x"]


@pytest.mark.parametrize("status", ERRORS)
async def test_an_error_of_the_engine_is_passed_on(gate: Gate, status: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(streamed())
        error = b'{"error":{"message":"model is loading"}}'
        await (await gate.engine.asked()).answer(error, status=status, headers=("Retry-After: 7",))
        answer = await wire.answer()
    assert (answer.status, answer.body) == (int(status[:3]), error)
    assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize("told", ["soon", "-1", "1" * (RETRY_AFTER_MAX_DIGITS + 1), "٧"])
async def test_a_rest_that_is_no_number_of_seconds_is_not_passed_on(gate: Gate, told: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await asked.say(f"HTTP/1.1 503 x\r\nRetry-After: {told}\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        assert "retry-after" not in (await wire.answer()).headers


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_an_engine_that_refuses_its_agent_is_not_taken_for_a_refused_token(gate: Gate, status: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b"", status=status)
        answer = await wire.answer()
    assert (answer.status, answer.code) == (502, "upstream_auth_error")


@pytest.mark.parametrize("status", ["302 Found", "307 x", "204 No Content"])
async def test_an_answer_that_leads_elsewhere_is_not_followed(gate: Gate, status: str) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b"", status=status, headers=("Location: http://10.0.0.1/",))
        answer = await wire.answer()
    assert (answer.status, answer.code) == (502, "upstream_error")
    assert "location" not in answer.headers


@pytest.mark.parametrize("error", [b"", b"x" * 1001])
async def test_an_error_with_nothing_or_too_much_to_say_is_told_in_our_words(error: bytes) -> None:
    async with gate_of(bounds=Bounds(error_max_bytes=1000)) as gate, connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).answer(error, status="500 x")
        answer = await wire.answer()
        assert (answer.status, answer.code) == (500, "upstream_error")


async def test_an_error_that_never_ends_is_not_waited_for() -> None:
    async with gate_of(bounds=Bounds(connect_s=0.05)) as gate, connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).say(b"HTTP/1.1 500 x\r\nContent-Length: 100\r\n\r\nhalf")
        assert (await wire.answer()).status == 500


async def test_an_engine_that_nobody_runs_is_told_as_such(gate: Gate) -> None:
    await gate.engine.stop()
    answer = await ask(gate.port, chat())
    assert (answer.status, answer.code) == (502, "upstream_error")
    assert "nobody listens" in answer.message
    assert gate.state.under_way == 0


async def test_an_engine_that_hangs_up_before_its_answer_is_told_as_such(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        (await gate.engine.asked()).die()
        answer = await wire.answer()
    assert (answer.status, answer.code) == (502, "upstream_error")


async def test_an_engine_that_speaks_no_http_is_told_as_such(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).say(b"\x15\x03\x01\x00\x02\x02\x50 nonsense\r\n\r\n")
        assert (await wire.answer()).status == 502


@pytest.mark.parametrize("sent", [chat(), streamed()])
async def test_an_engine_that_is_too_slow_to_begin_is_given_up(sent: bytes) -> None:
    async with gate_of(bounds=Bounds(begin_s=0.05, whole_s=0.05)) as gate, connected(gate.port) as wire:
        await wire.send(sent)
        asked = await gate.engine.asked()
        answer = await wire.answer()
        assert (answer.status, answer.code) == (504, "upstream_timeout")
        assert await asked.left()


async def test_a_late_error_becomes_an_event_when_the_head_has_gone() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire:
        await wire.send(streamed())
        asked = await gate.engine.asked()
        await head_of(wire)
        await asked.answer(b'{"error":\r\n"no memory"}', status="500 x")
        while (piece := await piece_of(wire)) == PING:
            pass
        assert piece == b'data: {"error":  "no memory"}\n\n'
        assert await piece_of(wire) == b""


async def test_an_answer_without_events_after_pings_is_an_error() -> None:
    async with gate_of(bounds=PINGING) as gate, connected(gate.port) as wire:
        await wire.send(streamed())
        asked = await gate.engine.asked()
        await head_of(wire)
        await asked.answer(b"{}")
        while (piece := await piece_of(wire)) == PING:
            pass
        assert b'"code": "upstream_error"' in piece


async def test_a_stream_that_breaks_between_events_ends_with_an_error_event(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await begun(gate, wire)
        await asked.piece(EVENT)
        assert await piece_of(wire) == EVENT
        asked.die()
        assert b'"code": "stream_interrupted"' in await piece_of(wire)
        assert await piece_of(wire) == b""


async def test_a_stream_that_breaks_within_an_event_is_cut(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await begun(gate, wire)
        await asked.piece(b"data: half")
        assert await piece_of(wire) == b"data: half"
        asked.die()
        assert await wire.ended()


async def test_a_whole_answer_that_breaks_is_cut(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await asked.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        assert (await head_of(wire)).startswith(b"HTTP/1.1 200 ")
        asked.die()
        assert await wire.rest() in {b"", b"{"}


async def test_a_whole_answer_that_breaks_after_its_head_is_told_as_such(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await asked.say(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n")
        asked.writer.close()
        answer = await wire.answer()
    assert (answer.status, answer.code) == (502, "stream_interrupted")


async def test_an_empty_answer_is_passed_on(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b"")
        answer = await wire.answer()
    assert (answer.status, answer.body) == (200, b"")


async def test_a_stream_that_falls_silent_for_too_long_is_given_up() -> None:
    async with gate_of(bounds=Bounds(silence_s=0.05)) as gate, connected(gate.port) as wire:
        asked = await begun(gate, wire)
        assert b'"code": "stream_interrupted"' in await piece_of(wire)
        assert await asked.left()


@pytest.mark.parametrize("sent", [chat(), streamed()])
async def test_a_client_that_leaves_before_the_answer_takes_the_engines_connection_with_it(
    gate: Gate, sent: bytes
) -> None:
    async with connected(gate.port) as wire:
        await wire.send(sent)
        asked = await gate.engine.asked()
        assert gate.state.under_way == 1
        wire.leave()
        assert await asked.left()
    assert gate.state.under_way == 0


async def test_a_client_that_leaves_a_stream_takes_the_engines_connection_with_it(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await begun(gate, wire)
        await asked.piece(EVENT)
        await piece_of(wire)
        wire.leave()
        assert await asked.left()
    assert gate.state.under_way == 0


async def flooded(gate: Gate, wire: Wire, body: bytes) -> Asked:
    """Have the engine say more than anybody on the way holds for a client that takes nothing."""
    wire._reader._transport.pause_reading()  # type: ignore[attr-defined]
    await wire.send(chat())
    asked = await gate.engine.asked()
    asked.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    async with connected(gate.port) as other:  # while this one is served, the other is full
        await other.send(chat())
        await (await gate.engine.asked()).answer(b"{}")
        assert (await other.answer()).status == 200
    assert asked.writer.transport.get_write_buffer_size() > 0
    return asked


async def test_a_client_that_leaves_while_its_answer_waits_for_it_is_noticed(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        asked = await flooded(gate, wire, b"x" * (1 << 26))
        wire.leave()
        assert await asked.left()
    assert gate.state.under_way == 0


async def test_a_slow_client_holds_the_engine_back_and_gets_all_of_it(gate: Gate) -> None:
    body = b"x" * (1 << 25)
    async with connected(gate.port) as wire:
        await flooded(gate, wire, body)
        wire._reader._transport.resume_reading()  # type: ignore[attr-defined]
        assert (await wire.answer()).body == body


async def test_calls_that_run_are_counted_and_given_back(gate: Gate) -> None:
    async with connected(gate.port) as first, connected(gate.port) as second:
        for wire in (first, second):
            await wire.send(chat())
        both = [await gate.engine.asked(), await gate.engine.asked()]
        assert gate.state.under_way == 2
        for asked in both:
            await asked.answer(b"{}")
        for wire in (first, second):
            assert (await wire.answer()).status == 200
        assert gate.state.under_way == 0


async def test_a_large_body_reaches_the_engine_whole(gate: Gate) -> None:
    picture = "data:image/png;base64," + "A" * (3 << 20)
    content = [{"type": "image_url", "image_url": {"url": picture}}]
    async with connected(gate.port) as wire:
        await wire.send(chat({"model": "qwen3:4b", "messages": [{"role": "user", "content": content}]}))
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
        assert (await wire.answer()).status == 200
    assert picture.encode() in asked.body


async def test_a_connection_to_the_engine_is_kept_for_the_next_request(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        for _ in range(2):
            await wire.send(chat())
            await (await gate.engine.asked()).answer(b"{}")
            assert (await wire.answer()).status == 200
    assert gate.engine.connections == 1


async def test_a_kept_connection_that_the_engine_closed_is_not_used_again(gate: Gate) -> None:
    async with connected(gate.port) as wire:
        await wire.send(chat())
        asked = await gate.engine.asked()
        await asked.answer(b"{}")
        assert (await wire.answer()).status == 200
        asked.die()
        await wire.send(models())
        assert (await wire.answer()).status == 200
        await wire.send(chat())
        await (await gate.engine.asked()).answer(b"{}")
        assert (await wire.answer()).status == 200
    assert gate.engine.connections == 2


async def test_a_relay_that_was_never_started_stops_all_the_same() -> None:
    await Relay("http://127.0.0.1:1", Bounds()).stop()
