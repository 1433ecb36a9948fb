"""Vendor and client against each other, without a gateway between: what a case relies on really happens."""

import pytest

from tests.world.client import RawClient, get, post
from tests.world.events import DONE, C, F, U, chat_answer
from tests.world.http_message import SeenRequest
from tests.world.real import RealWorld
from tests.world.script import (
    Framing,
    Step,
    acknowledged,
    answer,
    chunk,
    end,
    fin,
    head,
    hold,
    lock_step,
    pause_s,
    pieces,
    raw,
    rst,
    status,
    stream,
    wait,
)
from tests.world.vendor import TOKEN_LOOK, MockVendor
from tests.world.watch import NeverHappened
from tests.world.world import World

ASK = post("/v1/chat/completions", {"model": "m", "stream": True}, key="k")


async def asked(world: World, *steps: Step) -> tuple[MockVendor, RawClient]:
    vendor = await world.vendor()
    vendor.script(*steps)
    client = await world.client(vendor.listening)
    client.send(ASK)
    return vendor, client


async def test_a_stream_arrives_event_by_event_and_ends_cleanly(world: World) -> None:
    _, client = await asked(world, *stream(C("a"), F("stop"), U(7, 2), DONE))
    assert (await client.head()).header("content-type") == "text/event-stream"
    assert [event.raw async for event in client.events()] == [C("a"), F("stop"), U(7, 2), DONE]
    assert client.is_over
    assert not client.cut


async def test_the_vendor_remembers_the_request_to_the_byte(world: World) -> None:
    vendor, client = await asked(world, *status(429, (("Retry-After", "2"),)))
    seen = await vendor.request()
    assert seen.body == b'{"model":"m","stream":true}'
    assert seen.head.header("authorization") == "Bearer k"
    answered = await client.head()
    assert (answered.status, answered.header("retry-after")) == (429, "2")
    assert b"vendor says 429" in await client.body()


async def test_a_gate_holds_the_stream_until_the_test_opens_it(world: World) -> None:
    vendor, client = await asked(world, head(), chunk(C("a")), wait("go"), chunk(C("b")), end())
    first = await client.event()
    assert first is not None
    with pytest.raises(NeverHappened):
        await client.event(within_s=0.05)
    vendor.open("go")
    second = await client.event()
    assert second is not None
    assert second.raw == C("b")
    assert second.at > first.at


async def test_in_lock_step_the_next_event_waits_for_the_acknowledgement(world: World) -> None:
    vendor, client = await asked(world, *lock_step(C("a"), C("b"), DONE))
    for expected in (C("a"), C("b"), DONE):
        event = await client.event()
        assert event is not None
        assert event.raw == expected
        assert client.seen.endswith(expected), "nothing came ahead of its acknowledgement"
        vendor.acknowledge()
    assert await client.event() is None


async def test_a_fin_in_mid_body_is_seen_as_a_cut(world: World) -> None:
    _, client = await asked(world, head(), chunk(C("a")), fin())
    assert [event.raw async for event in client.events()] == [C("a")]
    assert client.cut
    assert client.error is None


async def test_a_reset_is_seen_as_a_reset(world: World) -> None:
    vendor, client = await asked(world, head(), chunk(C("a")), acknowledged(), rst())
    await client.event()
    vendor.acknowledge()
    await client.closed()
    assert client.cut
    assert isinstance(client.error, ConnectionResetError)


async def test_a_body_that_ends_with_its_connection_is_complete(world: World) -> None:
    _, client = await asked(world, head(framing=Framing.CLOSE), chunk(C("a") + DONE), end())
    assert await client.body() == C("a") + DONE
    assert not client.cut


async def test_pieces_are_separate_reads(world: World) -> None:
    text = C("hello")
    _, client = await asked(world, head(), *pieces(text[:20], text[20:]), chunk(DONE), end())
    assert [event.raw async for event in client.events()] == [text, DONE]


async def test_raw_bytes_go_out_as_they_are(world: World) -> None:
    _, client = await asked(world, raw(b"HTTP/1.1 100 Continue\r\n\r\n"), *answer(chat_answer("hi")))
    assert (await client.head()).status == 200
    assert [interim.status for interim in client.interim] == [100]
    assert await client.body() == chat_answer("hi")


async def test_time_passes_in_a_pause(world: World) -> None:
    _, client = await asked(world, head(), chunk(C("a")), pause_s(0.05), chunk(C("b")), end())
    stamps = [event.at async for event in client.events()]
    assert stamps[1] - stamps[0] >= 0.045


@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_the_vendor_knows_when_and_how_its_peer_left(world: World, how: str) -> None:
    vendor, client = await asked(world, head(), chunk(C("a")), hold())
    await client.event()
    before = world.now()
    if how == "fin":
        client.fin()
    else:
        client.rst()
    seen = await vendor.left(within_s=1)
    assert seen.gone_by == how
    assert seen.gone_at is not None
    assert 0 <= seen.gone_at - before < 1


async def test_the_vendors_own_end_is_not_taken_for_the_peers(world: World) -> None:
    vendor, client = await asked(world, head(), chunk(C("a")), fin())
    await client.closed()
    assert vendor.connections[0].gone_at is None


async def test_one_connection_carries_one_request_after_the_other(world: World) -> None:
    vendor, client = await asked(world, *answer(chat_answer("one")))
    vendor.standing(lambda request: answer(chat_answer(request.head.target)))
    await client.head()
    assert await client.body() == chat_answer("one")
    client.send(post("/v1/two", b"{}"))
    await client.head()
    assert await client.body() == chat_answer("/v1/two")
    assert [request.connection for request in vendor.requests] == [0, 0]


LOOKS = {"list": get("/v1/models"), "token": post("/v1/chat/completions", TOKEN_LOOK)}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
async def test_a_look_uses_up_no_script_and_no_number(world: World, look: bytes) -> None:
    vendor = await world.vendor()
    vendor.script(*answer(chat_answer("scripted")))
    looking = await world.client(vendor.listening)
    looking.send(look)
    await looking.head()
    assert b"vendor-model" in await looking.body()
    client = await world.client(vendor.listening)
    client.send(ASK)
    await client.head()
    assert await client.body() == chat_answer("scripted")
    assert len(vendor.probes) == 1
    assert [request.connection for request in vendor.requests] == [0]


async def test_a_connection_that_was_looked_through_counts_from_its_first_call_on(world: World) -> None:
    vendor = await world.vendor()
    vendor.pages["/v1/models"] = answer(b"[]")
    vendor.standing(answer(chat_answer("scripted")))
    looking, calling = [await world.client(vendor.listening) for _ in range(2)]
    for client, sent in ((looking, get("/v1/models")), (calling, ASK), (looking, ASK)):
        client.send(sent)
        await client.head()
        await client.body()
    assert [request.connection for request in vendor.requests] == [0, 1]


async def test_a_client_that_does_not_read_fills_the_buffers_and_loses_nothing(world: World) -> None:
    big = C("x" * 100_000)
    vendor = await world.vendor()
    vendor.script(*stream(*[big] * 100, DONE))
    client = await world.client(vendor.listening)
    client.stop_reading()
    client.send(ASK)
    await vendor.request()
    client.read_on()
    assert len(await client.body()) == 100 * len(big) + len(DONE)


async def test_a_request_that_nobody_scripted_fails_the_world() -> None:
    world = RealWorld()
    vendor = await world.vendor()
    client = await world.client(vendor.listening)
    client.send(ASK)
    await vendor.request()
    with pytest.raises(ExceptionGroup) as caught:
        await world.stop()
    assert "nobody scripted" in str(caught.value.exceptions[0])


async def test_a_request_that_is_not_http_fails_the_world() -> None:
    world = RealWorld()
    vendor = await world.vendor()
    client = await world.client(vendor.listening)
    client.send(b"hello\r\n\r\n")
    await client.closed()
    with pytest.raises(ExceptionGroup):
        await world.stop()


async def test_a_script_may_read_the_request(world: World) -> None:
    def echo(request: SeenRequest) -> tuple[Step, ...]:
        return answer(request.body)

    vendor = await world.vendor()
    vendor.standing(echo)
    client = await world.client(vendor.listening)
    client.send(ASK)
    await client.head()
    assert await client.json() == {"model": "m", "stream": True}


async def test_a_vendor_that_stopped_listening_refuses(world: World) -> None:
    vendor = await world.vendor()
    vendor.stop_listening()
    with pytest.raises(ConnectionRefusedError):
        await world.client(vendor.listening)
