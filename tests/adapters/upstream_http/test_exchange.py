"""One exchange against a scripted vendor: bodies and ends of all kinds, cancellation."""

import asyncio

import pytest

from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.exchange import HELD_BYTES_MAX, Exchange, StaleConnection
from ktms.domain.routing.outcome import FailureKind
from ktms.ports.upstream import Flow, UpstreamFailed
from tests.adapters.upstream_http.paper import PaperTransport
from tests.adapters.upstream_http.scripted import (
    GENEROUS,
    LAST_CHUNK,
    MIB,
    Collector,
    Peer,
    Serve,
    answer,
    ask,
    chunk,
    ending,
    failing,
    passed,
    sending,
    stream_head,
)


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
    total = 64 * MIB
    sent = 0

    async def script(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % total)
        while sent < total:
            await peer.send(b"x" * 65_536)
            sent += 65_536
        await peer.gone()

    got = await upstream.send(ask(await serve(script)))
    for _ in range(5 * total // 65_536):  # turns enough to send it all, were it read
        await asyncio.sleep(0)
    assert sent < total, "the vendor had to wait"
    sink = Collector()
    assert await got.pour(sink)
    assert len(sink.text) == total
    assert max(len(piece) for piece in sink.pieces) <= 2 * HELD_BYTES_MAX


async def test_a_body_that_comes_while_it_is_read_is_collected_up_to_the_cap(
    upstream: HttpUpstream, serve: Serve
) -> None:
    for cap in (3, 2):
        turn = asyncio.Semaphore(0)

        async def script(peer: Peer, turn: asyncio.Semaphore = turn) -> None:
            await peer.request()
            await peer.send(stream_head())
            for piece in (chunk(b"a"), chunk(b"b"), chunk(b"c"), LAST_CHUNK):
                await turn.acquire()
                await peer.send(piece)
            await peer.gone()

        got = await upstream.send(ask(await serve(script)))
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(got.read(cap) if cap == 3 else failing(got, cap))
            for _ in range(4):
                await passed(0.01)
                turn.release()
        assert reading.result() == (b"abc" if cap == 3 else FailureKind.TOO_LARGE)
        got.close()


@pytest.mark.parametrize(("used", "raised"), [(True, StaleConnection), (False, UpstreamFailed)])
async def test_a_connection_gone_before_it_is_used_is_not_written_to(used: bool, raised: type[Exception]) -> None:
    connection = Connection(asyncio.get_running_loop(), lambda _: None)
    connection.connection_made(PaperTransport(connection))
    connection.used = used
    connection.abort()
    with pytest.raises(raised):
        await Exchange(connection, GENEROUS, 1e9, lambda _: None).begin(b"head", b"")


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


async def test_trailers_are_no_headers(upstream: HttpUpstream, serve: Serve) -> None:
    pieces = stream_head() + chunk(b"x") + b"0\r\nContent-Encoding: gzip\r\nX-Late: 1\r\n\r\n"
    got = await upstream.send(ask(await serve(sending(pieces))))
    assert await got.read(1) == b"x"
    assert got.header("x-late") is None
    got.close()
    assert upstream.idle_connections == 1
