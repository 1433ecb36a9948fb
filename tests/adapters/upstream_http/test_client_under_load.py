"""`HttpUpstream` when connections are scarce: storms, waiting, ageing, closing."""

import asyncio

import pytest

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from tests.adapters.upstream_http.scripted import (
    SHORT_S,
    Peer,
    Serve,
    answer,
    answering,
    ask,
    exchange,
    failure,
    silent,
)


async def test_a_storm_of_errors_leaves_full_speed_behind(serve: Serve) -> None:
    # P60: 429 to more calls than there are connections, large bodies, then health.
    healthy = False

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            body = b"{}" if healthy else b"x" * 50_000
            await peer.send(answer(body, status="200 OK" if healthy else "429 Too Many Requests"))

    vendor = await serve(script)
    upstream = HttpUpstream(UpstreamSettings(connections_max=60, connections_per_origin_max=50), AddressRules())
    statuses: list[int] = []

    async def call() -> None:
        got = await upstream.send(ask(vendor, b"y" * 20_000))
        try:
            if len(statuses) % 2:
                await got.read(1 << 20)
            statuses.append(got.status)
        finally:
            got.close()

    async with asyncio.TaskGroup() as group:
        for _ in range(1000):
            group.create_task(call())
    assert statuses == [429] * 1000
    healthy = True
    statuses.clear()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(call())
    assert statuses == [200] * 50
    assert upstream.open_connections <= 50
    assert upstream.idle_connections == upstream.open_connections
    await upstream.close()


@pytest.mark.parametrize(
    ("timers", "kind"),
    [
        (Timers(SHORT_S, 20.0, 20.0, 20.0, 20.0), FailureKind.POOL_TIMEOUT),
        (Timers(20.0, 20.0, 20.0, 20.0, SHORT_S), FailureKind.TOTAL_TIMEOUT),
    ],
)
async def test_waiting_for_a_connection_has_its_own_failure(
    serve: Serve, timers: Timers, kind: FailureKind
) -> None:
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()

    vendor = await serve(script)
    upstream = HttpUpstream(UpstreamSettings(connections_max=1, connections_per_origin_max=1), AddressRules())
    async with asyncio.TaskGroup() as group:
        holder = group.create_task(upstream.send(ask(vendor)))
        await asked.wait()
        assert await failure(upstream, ask(vendor, timers=timers)) is kind
        holder.cancel()
    await upstream.close()


async def test_idle_connections_age_and_go(serve: Serve) -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer())
        await peer.gone()
        closed.set()

    vendor = await serve(script)
    upstream = HttpUpstream(UpstreamSettings(idle_age_s=SHORT_S), AddressRules())
    await exchange(upstream, ask(vendor))
    assert upstream.idle_connections == 1
    await closed.wait()
    assert (upstream.open_connections, upstream.idle_connections) == (0, 0)
    await upstream.close()


async def test_one_full_origin_leaves_the_others_their_connections(serve: Serve) -> None:
    slow, quick = await serve(silent), await serve(answering)
    upstream = HttpUpstream(UpstreamSettings(connections_max=8, connections_per_origin_max=4), AddressRules())
    async with asyncio.TaskGroup() as group:
        stuck = [group.create_task(upstream.send(ask(slow))) for _ in range(20)]
        for _ in range(20):
            assert await exchange(upstream, ask(quick)) == b"{}"
        for task in stuck:
            task.cancel()
    await upstream.close()


async def test_an_idle_connection_of_another_origin_makes_room(serve: Serve) -> None:
    vendors = [await serve(answering) for _ in range(3)]
    upstream = HttpUpstream(UpstreamSettings(connections_max=1, connections_per_origin_max=1), AddressRules())
    for vendor in vendors * 3:
        assert await exchange(upstream, ask(vendor)) == b"{}"
        assert upstream.open_connections == 1
    await upstream.close()


async def test_close_ends_whoever_uses_or_waits(serve: Serve) -> None:
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.gone()

    vendor = await serve(script)
    upstream = HttpUpstream(UpstreamSettings(connections_max=1, connections_per_origin_max=1), AddressRules())
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(failure(upstream, ask(vendor))) for _ in range(2)]
        await asked.wait()
        await upstream.close()
    assert [task.result() for task in tasks] == [FailureKind.CLOSED, FailureKind.CLOSED]
    assert upstream.open_connections == 0
    assert await failure(upstream, ask(vendor)) is FailureKind.CLOSED


async def test_a_cancelled_waiter_loses_no_slot(serve: Serve) -> None:
    release = asyncio.Event()
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            asked.set()
            await release.wait()
            await peer.send(answer())

    vendor = await serve(script)
    upstream = HttpUpstream(UpstreamSettings(connections_max=1, connections_per_origin_max=1), AddressRules())
    async with asyncio.TaskGroup() as group:
        first = group.create_task(exchange(upstream, ask(vendor)))
        await asked.wait()
        waiters = [group.create_task(exchange(upstream, ask(vendor))) for _ in range(6)]
        await asyncio.sleep(0)
        for waiter in waiters[::2]:
            waiter.cancel()
        release.set()
        assert await first == b"{}"
    assert [waiter.cancelled() for waiter in waiters] == [True, False] * 3
    assert upstream.idle_connections == 1
    await upstream.close()
