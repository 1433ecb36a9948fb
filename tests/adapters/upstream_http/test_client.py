"""`HttpUpstream` against a scripted vendor: what leaves, what is reused, what is sent twice."""

import asyncio

import pytest

from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Prologue, UpstreamFailed
from tests.adapters.upstream_http.scripted import (
    LAST_CHUNK,
    SHORT_S,
    Collector,
    Peer,
    Seen,
    Serve,
    Vendor,
    answer,
    answering,
    ask,
    chunk,
    exchange,
    failure,
    stream_head,
)


async def test_a_request_arrives_as_it_was_meant(upstream: HttpUpstream, serve: Serve) -> None:
    seen: list[Seen] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(answer())

    vendor = await serve(script)
    request = ask(vendor, b'{"a":1}', extra=(("traceparent", "00-1-2-01"),))
    await exchange(upstream, request)
    assert seen[0].line == "POST /v1/chat/completions HTTP/1.1"
    assert seen[0].headers == (
        ("Host", f"127.0.0.1:{vendor.origin.port}"),
        ("Accept-Encoding", "identity"),
        ("Content-Type", "application/json"),
        ("traceparent", "00-1-2-01"),
        ("Content-Length", "7"),
    )
    assert seen[0].body == b'{"a":1}'


async def test_an_answer_gives_status_headers_and_body(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"slow down", "Retry-After:  7 ", "X-Twice: 1", "X-Twice: 2", status="429 No"))

    got = await upstream.send(ask(await serve(script)))
    assert (got.status, got.header("retry-after"), got.header("x-twice")) == (429, "7", "1")
    assert got.header("absent") is None
    assert await got.read(100) == b"slow down"
    got.close()


async def test_a_get_has_no_body_and_no_length(upstream: HttpUpstream, serve: Serve) -> None:
    seen: list[Seen] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(answer())

    await exchange(upstream, ask(await serve(script), b"", prologue=Prologue("GET", "/v1/models", ())))
    assert seen[0].line == "GET /v1/models HTTP/1.1"
    assert seen[0].header("content-length") is None


async def test_a_large_body_arrives_whole(upstream: HttpUpstream, serve: Serve) -> None:
    body = bytes(range(256)) * 16_384
    seen: list[Seen] = []

    async def script(peer: Peer) -> None:
        seen.append(await peer.request())
        await peer.send(answer())

    await exchange(upstream, ask(await serve(script), body))
    assert seen[0].body == body


async def test_connections_are_reused(upstream: HttpUpstream, serve: Serve) -> None:
    vendor = await serve(answering)
    for _ in range(20):
        assert await exchange(upstream, ask(vendor)) == b"{}"
    assert vendor.accepted_total == 1
    assert (upstream.open_connections, upstream.idle_connections) == (1, 1)


@pytest.mark.parametrize(
    "response",
    [
        answer(b"{}", "Connection: close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        answer() + b"surplus",
        answer() + answer(b"not asked for"),
    ],
    ids=["connection-close", "http-1.0", "surplus-bytes", "second-answer"],
)
async def test_such_a_connection_is_not_used_again(upstream: HttpUpstream, serve: Serve, response: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response)
        await peer.gone()

    vendor = await serve(script)
    for _ in range(3):
        assert await exchange(upstream, ask(vendor)) == b"{}"
    assert vendor.accepted_total == 3


async def test_unasked_bytes_spoil_an_idle_connection(upstream: HttpUpstream, serve: Serve) -> None:
    answered, spoil, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer())
        answered.set()
        await spoil.wait()
        await peer.send(answer(b"poison"))
        await peer.gone()
        closed.set()

    vendor = await serve(script)
    assert await exchange(upstream, ask(vendor)) == b"{}"
    assert upstream.idle_connections == 1
    spoil.set()
    await closed.wait()
    assert upstream.idle_connections == 0
    assert await exchange(upstream, ask(vendor)) == b"{}"


async def test_a_stale_connection_is_replaced_once_and_the_body_sent_again(
    upstream: HttpUpstream, serve: Serve
) -> None:
    bodies: list[bytes] = []

    async def script(peer: Peer) -> None:
        bodies.append((await peer.request()).body)
        await peer.send(answer())
        bodies.append((await peer.request()).body)  # read, then dropped without an answer
        peer.reset()

    vendor = await serve(script)
    for number in range(2):
        assert await exchange(upstream, ask(vendor, b"%d" % number)) == b"{}"
    assert bodies == [b"0", b"1", b"1"]
    assert vendor.accepted_total == 2


async def test_a_fresh_connection_that_dies_is_not_replaced(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.close()

    vendor = await serve(script)
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor))
    assert failed.value.kind is FailureKind.CLOSED
    assert vendor.accepted_total == 1


async def test_the_replacement_is_not_replaced_either(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        if vendor.accepted_total == 1:
            await peer.send(answer())
            await peer.request()
        peer.close()

    vendor = await serve(script)
    await exchange(upstream, ask(vendor))
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor))
    assert failed.value.kind is FailureKind.CLOSED
    assert vendor.accepted_total == 2


@pytest.mark.parametrize("first", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-"])
async def test_after_any_response_byte_nothing_is_sent_again(
    upstream: HttpUpstream, serve: Serve, first: bytes
) -> None:
    requests = 0

    async def script(peer: Peer) -> None:
        nonlocal requests
        while True:
            await peer.request()
            requests += 1
            if requests == 2:
                await peer.send(first)
                peer.close()
                return
            await peer.send(answer())

    vendor = await serve(script)
    await exchange(upstream, ask(vendor))
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor))
    assert failed.value.kind is FailureKind.CLOSED
    assert requests == 2


async def test_fifty_streams_from_an_engine_that_closes_after_each(upstream: HttpUpstream, serve: Serve) -> None:
    # llama.cpp promises keep-alive and closes after a chunked answer all the same.
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head("Connection: keep-alive", "Keep-Alive: timeout=5, max=100"))
        await peer.send(chunk(b"data: x\n\n"), LAST_CHUNK)
        peer.close()

    vendor = await serve(script)
    for _ in range(50):
        got = await upstream.send(ask(vendor))
        sink = Collector()
        assert await got.pour(sink)
        got.close()
        assert sink.text == b"data: x\n\n"


async def test_a_name_is_resolved_and_its_addresses_are_dialled(upstream: HttpUpstream, serve: Serve) -> None:
    # Known without asking anybody; where it is ::1 first, nobody listens there and the next address is taken.
    vendor = await serve(answering, None, "localhost")
    assert await exchange(upstream, ask(vendor)) == b"{}"


async def test_redirects_are_not_followed(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer(b"", "Location: http://127.0.0.1:1/", status="302 Found"))
        await peer.gone()

    vendor = await serve(script)
    got = await upstream.send(ask(vendor))
    assert got.status == 302
    got.close()


async def test_one_key_but_another_reach_is_another_connection(upstream: HttpUpstream, serve: Serve) -> None:
    # What was dialled for a node must not serve a vendor that may only be public.
    vendor = await serve(answering)
    await exchange(upstream, ask(vendor))
    assert upstream.idle_connections == 1
    origin = vendor.origin
    public = Vendor(Origin(origin.scheme, origin.host, origin.port, "", Reach.PUBLIC))
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(public))
    assert failed.value.kind is FailureKind.ADDRESS_REFUSED


@pytest.mark.parametrize(
    ("timers", "kind"),
    [
        (Timers(9.0, 9.0, SHORT_S, 9.0, 9.0), FailureKind.FIRST_TOKEN_TIMEOUT),
        (Timers(9.0, 9.0, 9.0, 9.0, SHORT_S), FailureKind.TOTAL_TIMEOUT),
    ],
)
async def test_a_vendor_that_never_answers_runs_into_a_timer(
    upstream: HttpUpstream, serve: Serve, timers: Timers, kind: FailureKind
) -> None:
    gone = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.gone()
        gone.set()

    assert await failure(upstream, ask(await serve(script), timers=timers)) is kind
    await gone.wait()


async def test_failure_details_hold_no_address_and_no_credential(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        peer.close()

    vendor = await serve(script)
    prologue = Prologue("POST", "/v1/secret-path", (("Authorization", "Bearer secret-key"),))
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor, b"secret-body", prologue=prologue))
    assert not any(word in str(failed.value) for word in ("127.0.0.1", "secret", str(vendor.origin.port)))


async def test_cancelled_while_waiting_for_the_head_closes_at_once(upstream: HttpUpstream, serve: Serve) -> None:
    asked, gone = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()
        gone.set()

    vendor = await serve(script)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(upstream.send(ask(vendor)))
        await asked.wait()
        task.cancel()
    await gone.wait()
    assert upstream.open_connections == 0


async def test_cancelled_before_it_is_connected_leaves_nothing(upstream: HttpUpstream, serve: Serve) -> None:
    vendor = await serve(answering)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(upstream.send(ask(vendor)))
        await asyncio.sleep(0)
        assert upstream.open_connections == 1, "it is being dialled"
        task.cancel()
    assert upstream.open_connections == 0
    assert await exchange(upstream, ask(vendor)) == b"{}"


async def test_an_early_answer_to_a_large_body_is_read_and_its_connection_dropped(
    upstream: HttpUpstream, serve: Serve
) -> None:
    read_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.reader.readuntil(b"\r\n\r\n")
        await peer.send(answer(b"too large", status="413 Too Large"))
        await read_on.wait()

    vendor = await serve(script)
    got = await upstream.send(ask(vendor, b"x" * (64 << 20)))
    assert (got.status, await got.read(100)) == (413, b"too large")
    got.close()
    assert upstream.idle_connections == 0
    read_on.set()
