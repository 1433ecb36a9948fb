"""One exchange against a scripted vendor: bodies, flow, timers of the body, cancellation, ends of all kinds."""

import asyncio

import pytest

from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.exchange import END_BYTES_MAX, HELD_BYTES_MAX
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.ports.upstream import Flow, UpstreamAnswer, UpstreamFailed
from tests.adapters.upstream_http.scripted import (
    LAST_CHUNK,
    SHORT_S,
    Collector,
    Peer,
    Script,
    Serve,
    answer,
    ask,
    chunk,
    stream_head,
    until,
)

MIB = 1 << 20


def sending(*pieces: bytes, gone: asyncio.Event | None = None) -> Script:
    """A script that reads a request, sends these pieces and waits for the client to leave."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        await peer.gone()
        if gone is not None:
            gone.set()

    return script


def ending(*pieces: bytes) -> Script:
    """A script that reads a request, sends these pieces and ends the connection."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)
        peer.close()

    return script


async def failing(answer: UpstreamAnswer, max_bytes: int = MIB) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await answer.read(max_bytes)
    return failed.value.kind


async def test_a_chunked_body_is_read_whole(upstream: HttpUpstream, serve: Serve) -> None:
    vendor = await serve(sending(stream_head(), chunk(b"one "), chunk(b"two"), LAST_CHUNK))
    got = await upstream.send(ask(vendor))
    assert await got.read(MIB) == b"one two"
    got.close()
    assert upstream.idle_connections == 1


async def test_a_body_without_framing_ends_with_the_connection(upstream: HttpUpstream, serve: Serve) -> None:
    vendor = await serve(ending(b"HTTP/1.1 200 OK\r\n\r\n", b"to the ", b"end"))
    got = await upstream.send(ask(vendor))
    assert await got.read(MIB) == b"to the end"
    got.close()


async def test_a_reset_is_no_end_even_without_framing(upstream: HttpUpstream, serve: Serve) -> None:
    headed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\npart")
        await headed.wait()
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        peer.writer.get_extra_info("socket").setsockopt(1, 13, linger)  # SOL_SOCKET, SO_LINGER: close with RST
        peer.reset()

    got = await upstream.send(ask(await serve(script)))
    headed.set()
    assert await failing(got) is FailureKind.CLOSED


@pytest.mark.parametrize(
    "pieces",
    [(stream_head(), chunk(b"part")), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart",)],
    ids=["chunked", "length"],
)
async def test_an_early_end_is_closed(upstream: HttpUpstream, serve: Serve, pieces: tuple[bytes, ...]) -> None:
    got = await upstream.send(ask(await serve(ending(*pieces))))
    assert await failing(got) is FailureKind.CLOSED
    got.close()
    assert upstream.open_connections == 0


async def test_what_came_before_a_cut_has_been_fed(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(ending(stream_head(), chunk(b"a"), chunk(b"b")))))
    sink = Collector()
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(sink)
    assert (sink.text, failed.value.kind) == (b"ab", FailureKind.CLOSED)


async def test_what_came_before_bad_framing_has_been_fed(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(stream_head() + chunk(b"good") + b"zz\r\nbad"))))
    sink = Collector()
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(sink)
    assert (sink.text, failed.value.kind) == (b"good", FailureKind.MALFORMED)
    with pytest.raises(UpstreamFailed):
        await got.pour(sink)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_such_an_answer_has_no_body(upstream: HttpUpstream, serve: Serve, status: str) -> None:
    got = await upstream.send(ask(await serve(sending(f"HTTP/1.1 {status}\r\n\r\n".encode()))))
    assert await got.read(0) == b""
    got.close()
    assert upstream.idle_connections == 1


async def test_interim_responses_never_show(upstream: HttpUpstream, serve: Serve) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    vendor = await serve(sending(b"HTTP/1.1 100 Continue\r\n\r\n", early + early, answer(b"final")))
    got = await upstream.send(ask(vendor))
    assert (got.status, got.header("link"), await got.read(MIB)) == (200, None, b"final")
    got.close()


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
async def test_a_compressed_answer_is_refused_at_its_head(
    upstream: HttpUpstream, serve: Serve, encoding: str
) -> None:
    gone = asyncio.Event()
    vendor = await serve(sending(answer(b"x", f"Content-Encoding: {encoding}"), gone=gone))
    with pytest.raises(UpstreamFailed) as failed:
        await upstream.send(ask(vendor))
    assert failed.value.kind is FailureKind.ENCODED
    await gone.wait()


async def test_identity_is_no_encoding(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(answer(b"x", "Content-Encoding: Identity")))))
    assert await got.read(1) == b"x"


@pytest.mark.parametrize(
    "pieces",
    [
        (answer(b"12345"),),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",),
        (stream_head() + chunk(b"12345") + LAST_CHUNK,),
        (stream_head(), chunk(b"123"), chunk(b"45")),
        (b"HTTP/1.1 200 OK\r\n\r\n12345",),
    ],
    ids=["whole", "declared", "chunked-whole", "chunked-growing", "to-the-end"],
)
async def test_a_body_over_the_cap_is_too_large(
    upstream: HttpUpstream, serve: Serve, pieces: tuple[bytes, ...]
) -> None:
    got = await upstream.send(ask(await serve(sending(*pieces))))
    assert await failing(got, 4) is FailureKind.TOO_LARGE
    got.close()


async def test_a_body_of_exactly_the_cap_is_read(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(answer(b"12345")))))
    assert await got.read(5) == b"12345"


async def test_pieces_are_fed_as_they_come(upstream: HttpUpstream, serve: Serve) -> None:
    turn = asyncio.Queue[int]()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        for number in range(5):
            await peer.send(chunk(b"%d" % number))
            await turn.get()  # the next piece exists only after the last one was fed
        await peer.send(LAST_CHUNK)

    class Turning(Collector):
        def feed(self, data: bytes) -> Flow:
            turn.put_nowait(1)
            return super().feed(data)

    got = await upstream.send(ask(await serve(script)))
    sink = Turning()
    assert await got.pour(sink)
    assert sink.pieces == [b"0", b"1", b"2", b"3", b"4"]


async def test_pieces_of_one_read_are_fed_as_one(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(stream_head() + chunk(b"a") * 9 + LAST_CHUNK))))
    sink = Collector()
    assert await got.pour(sink)
    assert sink.pieces == [b"a" * 9]


async def test_what_came_before_pour_is_fed_first(upstream: HttpUpstream, serve: Serve) -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head() + chunk(b"early"))
        await go_on.wait()
        await peer.send(chunk(b"late") + LAST_CHUNK)

    def says(_: int) -> Flow:
        go_on.set()
        return Flow.FLOWING

    got = await upstream.send(ask(await serve(script)))
    sink = Collector(says)
    assert await got.pour(sink)
    assert sink.pieces == [b"early", b"late"]


async def test_little_is_held_for_a_caller_who_does_not_read(upstream: HttpUpstream, serve: Serve) -> None:
    stalled = asyncio.Event()
    total = 64 * MIB
    sent = 0

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        piece = b"x" * 65_536
        while sent < total:
            peer.writer.write(piece)
            sent += len(piece)
            if peer.writer.transport.get_write_buffer_size() > 4 * MIB:
                stalled.set()
                await peer.writer.drain()
        await peer.gone()

    got = await upstream.send(ask(await serve(script)))
    await stalled.wait()
    assert sent < total, "the vendor had to wait: kernel buffers and HELD_BYTES_MAX took all there was room for"
    sink = Collector()
    assert await got.pour(sink)
    assert len(sink.text) == total
    assert max(len(piece) for piece in sink.pieces) <= 2 * HELD_BYTES_MAX


async def test_a_choked_client_stops_the_reading_until_it_pours_again(
    upstream: HttpUpstream, serve: Serve
) -> None:
    total = 32 * MIB
    done = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        await peer.send(*[b"x" * 65_536] * (total // 65_536))
        done.set()

    got = await upstream.send(ask(await serve(script)))
    sink = Collector(lambda number: Flow.CHOKED if number % 7 == 1 else Flow.FLOWING)
    assert not await got.pour(sink)
    seen = len(sink.text)
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(sink.text) == seen
    assert not done.is_set()
    pours = 1
    while not await got.pour(sink):
        pours += 1
    assert len(sink.text) == total
    assert pours > 3
    got.close()
    assert upstream.idle_connections == 1


async def test_choked_by_the_last_piece_ends_with_the_next_pour(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(answer(b"all")))))
    sink = Collector(lambda _: Flow.CHOKED)
    assert not await got.pour(sink)
    assert await got.pour(sink)
    assert sink.pieces == [b"all"]


async def test_while_choked_neither_idle_nor_first_token_runs(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head(), chunk(b"a"))
        await go_on.wait()
        await peer.send(chunk(b"b"), LAST_CHUNK)

    for says in (Flow.FLOWING, Flow.WAITING):
        go_on = asyncio.Event()
        got = await upstream.send(ask(await serve(script), timers=Timers(9.0, 9.0, 0.2, 0.2, 9.0)))
        sink = Collector(lambda number, says=says: Flow.CHOKED if number == 1 else says)  # type: ignore[misc]  # bound now
        assert not await got.pour(sink)
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, passed.set)  # longer than both timers
        await passed.wait()
        go_on.set()
        assert await got.pour(sink)
        assert sink.text == b"ab"


async def test_total_runs_on_while_choked(upstream: HttpUpstream, serve: Serve) -> None:
    gone = asyncio.Event()
    vendor = await serve(sending(stream_head(), chunk(b"a"), gone=gone))
    got = await upstream.send(ask(vendor, timers=Timers(9.0, 9.0, 9.0, 9.0, 0.2)))
    sink = Collector(lambda _: Flow.CHOKED)
    assert not await got.pour(sink)
    await gone.wait()
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(sink)
    assert failed.value.kind is FailureKind.TOTAL_TIMEOUT


async def test_first_token_time_goes_on_until_something_is_visible(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        while True:  # comments for ever, each well within the idle time
            await peer.send(chunk(b": ping\n\n"))
            await asyncio.sleep(SHORT_S / 5)

    got = await upstream.send(ask(await serve(script), timers=Timers(9.0, 9.0, 3 * SHORT_S, 9.0, 9.0)))
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(Collector(lambda _: Flow.WAITING))
    assert failed.value.kind is FailureKind.FIRST_TOKEN_TIMEOUT


async def test_first_token_time_is_over_once_it_flows(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        for _ in range(20):
            await peer.send(chunk(b"x"))
            await asyncio.sleep(SHORT_S / 5)
        await peer.send(LAST_CHUNK)

    got = await upstream.send(ask(await serve(script), timers=Timers(9.0, 9.0, 2 * SHORT_S, 9.0, 9.0)))
    sink = Collector()
    assert await got.pour(sink)
    assert sink.text == b"x" * 20


@pytest.mark.parametrize("reading", [True, False])
async def test_silence_after_the_first_piece_is_an_idle_timeout(
    upstream: HttpUpstream, serve: Serve, reading: bool
) -> None:
    gone = asyncio.Event()
    vendor = await serve(sending(stream_head(), chunk(b"x"), gone=gone))
    got = await upstream.send(ask(vendor, timers=Timers(9.0, 9.0, 9.0, SHORT_S, 9.0)))
    with pytest.raises(UpstreamFailed) as failed:
        await (got.read(MIB) if reading else got.pour(Collector()))
    assert failed.value.kind is FailureKind.IDLE_TIMEOUT
    await gone.wait()


async def test_a_drip_passes_the_idle_timer_and_meets_the_total(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        while True:
            await peer.send(chunk(b"x"))
            await asyncio.sleep(SHORT_S / 5)

    got = await upstream.send(ask(await serve(script), timers=Timers(9.0, 9.0, 9.0, 2 * SHORT_S, 5 * SHORT_S)))
    sink = Collector()
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(sink)
    assert failed.value.kind is FailureKind.TOTAL_TIMEOUT
    assert len(sink.text) > 5


async def test_framing_without_body_does_not_hold_off_the_idle_timer(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head(), chunk(b"x"), b"1;ext=")
        while True:
            await peer.send(b"y")
            await asyncio.sleep(SHORT_S / 5)

    got = await upstream.send(ask(await serve(script), timers=Timers(9.0, 9.0, 9.0, 2 * SHORT_S, 9.0)))
    assert await failing(got) is FailureKind.IDLE_TIMEOUT


async def test_enough_with_the_end_in_sight_keeps_the_connection(upstream: HttpUpstream, serve: Serve) -> None:
    end = asyncio.Event()

    async def script(peer: Peer) -> None:
        for _ in range(2):
            await peer.request()
            await peer.send(stream_head(), chunk(b"data: [DONE]\n\n"))
            await end.wait()
            await peer.send(LAST_CHUNK)
        await peer.gone()

    vendor = await serve(script)
    got = await upstream.send(ask(vendor))
    assert await got.pour(Collector(lambda _: Flow.ENOUGH))
    got.close()
    assert upstream.idle_connections == 0
    end.set()
    await until(lambda: upstream.idle_connections == 1)
    got = await upstream.send(ask(vendor))
    assert await got.pour(Collector(lambda _: Flow.ENOUGH))
    got.close()
    assert vendor.accepted_total == 1


async def test_enough_without_an_end_closes_the_connection_soon(upstream: HttpUpstream, serve: Serve) -> None:
    gone = asyncio.Event()
    vendor = await serve(sending(stream_head(), chunk(b"data: [DONE]\n\n"), gone=gone))
    got = await upstream.send(ask(vendor))
    assert await got.pour(Collector(lambda _: Flow.ENOUGH))
    got.close()
    got.close()
    assert await got.pour(Collector()), "over is over"
    await gone.wait()
    assert upstream.open_connections == 0


async def test_enough_for_a_vendor_who_talks_on_cuts_it_off(upstream: HttpUpstream, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head(), chunk(b"first"))
        await said.wait()
        await peer.send(chunk(b"x" * (END_BYTES_MAX + 1)))
        await peer.gone()
        gone.set()

    said, gone = asyncio.Event(), asyncio.Event()
    got = await upstream.send(ask(await serve(script)))
    assert await got.pour(Collector(lambda _: Flow.ENOUGH))
    said.set()
    await gone.wait()
    assert upstream.open_connections == 0


async def test_enough_in_the_last_piece_gives_the_connection_back(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(stream_head(), chunk(b"x") + LAST_CHUNK))))
    assert await got.pour(Collector(lambda _: Flow.ENOUGH))
    got.close()
    assert upstream.idle_connections == 1


@pytest.mark.parametrize("reading", [True, False])
async def test_cancelled_in_the_body_closes_at_once(upstream: HttpUpstream, serve: Serve, reading: bool) -> None:
    started, gone = asyncio.Event(), asyncio.Event()
    vendor = await serve(sending(stream_head(), chunk(b"x"), gone=gone))
    got = await upstream.send(ask(vendor))

    async def consume() -> None:
        started.set()
        await (got.read(MIB) if reading else got.pour(Collector()))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(consume())
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
    await gone.wait()
    assert upstream.open_connections == 0
    got.close()


async def test_close_in_the_body_closes_at_once(upstream: HttpUpstream, serve: Serve) -> None:
    gone = asyncio.Event()
    got = await upstream.send(ask(await serve(sending(stream_head(), chunk(b"x"), gone=gone))))
    got.close()
    got.close()
    await gone.wait()
    assert await failing(got) is FailureKind.CLOSED


async def test_a_complete_answer_gives_its_connection_back_unread(upstream: HttpUpstream, serve: Serve) -> None:
    got = await upstream.send(ask(await serve(sending(answer(b"unread")))))
    got.close()
    assert upstream.idle_connections == 1
    assert await got.read(MIB) == b"unread"


async def test_a_sink_that_fails_fails_the_caller_not_the_loop(upstream: HttpUpstream, serve: Serve) -> None:
    class Broken:
        def feed(self, data: bytes) -> Flow:
            raise ZeroDivisionError(len(data))

    gone, poured = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        await poured.wait()
        await peer.send(chunk(b"x"))
        await peer.gone()
        gone.set()

    got = await upstream.send(ask(await serve(script)))
    asyncio.get_running_loop().call_soon(poured.set)
    with pytest.raises(ZeroDivisionError):
        await got.pour(Broken())
    await gone.wait()
    assert upstream.open_connections == 0


async def test_a_sink_may_close_its_own_exchange(upstream: HttpUpstream, serve: Serve) -> None:
    go_on = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head())
        await go_on.wait()
        await peer.send(chunk(b"x"))
        await peer.gone()

    class Closing(Collector):
        def feed(self, data: bytes) -> Flow:
            got.close()
            return super().feed(data)

    got = await upstream.send(ask(await serve(script)))
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(Closing())
    assert failed.value.kind is FailureKind.CLOSED


async def test_trailers_are_no_headers(upstream: HttpUpstream, serve: Serve) -> None:
    pieces = stream_head() + chunk(b"x") + b"0\r\nContent-Encoding: gzip\r\nX-Late: 1\r\n\r\n"
    got = await upstream.send(ask(await serve(sending(pieces))))
    assert await got.read(1) == b"x"
    assert got.header("x-late") is None
    got.close()
    assert upstream.idle_connections == 1
