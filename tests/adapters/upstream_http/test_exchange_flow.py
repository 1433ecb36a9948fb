"""One exchange against a scripted vendor: what the sink says, and which timer runs meanwhile."""

import asyncio

import pytest

from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.exchange import END_BYTES_MAX, Exchange
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.ports.upstream import Flow, UpstreamFailed
from tests.adapters.upstream_http.scripted import (
    LAST_CHUNK,
    MIB,
    SHORT_S,
    Collector,
    Peer,
    Serve,
    answer,
    ask,
    chunk,
    failing,
    passed,
    sending,
    stream_head,
    until,
)


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
    assert isinstance(got, Exchange)
    assert got._held_bytes == 0, "nothing is read meanwhile, not even into our own memory"
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
        await passed(0.3)  # longer than both timers
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
            await passed(SHORT_S / 5)

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
            await passed(SHORT_S / 5)
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
            await passed(SHORT_S / 5)

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
            await passed(SHORT_S / 5)

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
