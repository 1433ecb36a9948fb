"""P60: no error path keeps a connection, and no change of configuration closes one that is in use.

The case is printed with a pool of 50 and 5,000 calls; here both are a 25th: a hundred calls still want each
connection.
"""

import asyncio
from dataclasses import replace

import pytest

from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.catalogue import Catalogue, ModelSpec, TargetSpec
from ktms.ports.telemetry import Gauge
from tests.cases.calls import ask, call, no_alarm, one_upstream, reply
from tests.cases.forms import CHAT, CHAT_STREAM
from tests.world.catalogues import MODEL, catalogue, vendor, with_models
from tests.world.events import DONE, VENDOR_MODEL, C, F, Json, U, compact
from tests.world.gateway import TEST
from tests.world.script import Step, chunk, end, head, hold, status, wait
from tests.world.vendor import MockVendor
from tests.world.world import GatewayUnderTest, World

POOL = 2
STORM = 100 * POOL
STREAMS = 10
CHANGES = 5
IDLE = 2

SMALL_POOL = UpstreamSettings(connections_max=POOL + 1, connections_per_origin_max=POOL)
LARGE: Json = [{"role": "user", "content": "y" * 20_000}]
AT_ONCE = ("Retry-After", "0")
"""Nobody is to wait: without it the first refusal would keep the storm from the vendor."""

REFUSAL_BYTES = {"read": 1_000, "dropped": 100_000}
"""What is read to its end leaves its connection to the next call; of more than anybody reads it is dropped."""


def still_open(upstream: MockVendor) -> int:
    """Count the connections that calls came on and that are open now."""
    return sum(connection.closed_at is None for connection in upstream.connections)


async def few_are_open(upstream: MockVendor) -> None:
    """Wait until no more connections are open than may lie idle."""
    await upstream.watch.until(lambda: still_open(upstream) <= IDLE, "the others are closed")


def most_open(upstream: MockVendor) -> int:
    """Give the most connections that were ever open at once."""
    moments = [(one.opened_at, 1) for one in upstream.connections]
    moments += [(one.closed_at, -1) for one in upstream.connections if one.closed_at is not None]
    most = now = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


@pytest.mark.parametrize("size_bytes", REFUSAL_BYTES.values(), ids=REFUSAL_BYTES)
async def test_right_after_a_storm_of_refusals_the_whole_pool_serves(world: World, size_bytes: int) -> None:
    upstream, gateway = await one_upstream(world, upstream=SMALL_POOL)
    body = compact({"error": {"message": "z" * size_bytes, "type": "rate", "param": None, "code": None}})
    upstream.standing(status(429, headers=(AT_ONCE,), body=body))
    async with asyncio.TaskGroup() as group:
        storm = [group.create_task(call(world, gateway, CHAT, messages=LARGE)) for _ in range(STORM)]
    statuses = [one.result().status for one in storm]
    assert set(statuses) <= {429, 503}, "on a busy machine some wait for a connection for longer than they may"
    assert len(upstream.requests) == statuses.count(429) > STORM / 2
    assert most_open(upstream) <= POOL

    upstream.standing((wait("all are here"), *CHAT.healthy()))
    before = len(upstream.requests)
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call(world, gateway, CHAT)) for _ in range(3 * POOL)]
        await upstream.request(before + POOL - 1)  # as many at once as there are connections: none was lost
        upstream.open("all are here")
    assert [one.result().status for one in calls] == [200] * len(calls)
    assert still_open(upstream) <= POOL


async def test_who_finds_no_connection_is_told_of_the_gateway_and_not_of_the_vendor(world: World) -> None:
    bounds = UpstreamSettings(connections_max=1, connections_per_origin_max=1)
    upstream, gateway = await one_upstream(world, upstream=bounds)
    upstream.standing((wait("go"), *CHAT.healthy()))
    first = await ask(world, gateway, CHAT)
    await upstream.request()
    late = await call(world, gateway, CHAT)
    assert (late.status, late.error["code"], late.attempts) == (503, "overloaded", "upstream:pool_timeout")
    assert late.retry_after is not None
    upstream.open("go")
    assert (await reply(first)).status == 200
    assert len(upstream.requests) == 1
    no_alarm(gateway)


async def test_a_slow_vendor_leaves_the_others_their_connections(world: World) -> None:
    slow, quick = await world.vendor("slow"), await world.vendor("quick")
    made = with_models(
        catalogue(vendor("slow", slow.url), vendor("quick", quick.url)),
        *(ModelSpec(name, (TargetSpec(name, VENDOR_MODEL),)) for name in ("slow", "quick")),
    )
    gateway = await world.gateway(
        made, upstream=UpstreamSettings(connections_max=2 * POOL, connections_per_origin_max=POOL)
    )
    slow.standing((hold(),))
    quick.standing(CHAT.healthy())
    for _ in range(10 * POOL):
        await ask(world, gateway, CHAT, model="slow")
    await slow.request(POOL - 1)
    for _ in range(10 * POOL):
        assert (await call(world, gateway, CHAT, model="quick")).status == 200
    assert len(slow.requests) == POOL, "all others wait, and for their own vendor only"


async def test_streams_outlive_changes_of_their_vendor(world: World) -> None:
    old, new = await world.vendor("old"), await world.vendor("new")
    made = catalogue(vendor("cloud", old.url))
    gateway = await world.gateway(made, upstream=UpstreamSettings(idle_per_origin_max=IDLE))
    old.standing(_paced())
    clients = [await ask(world, gateway, CHAT_STREAM) for _ in range(STREAMS)]
    await old.request(STREAMS - 1)
    old.standing(CHAT.healthy())
    new.standing(CHAT.healthy())
    for number in range(CHANGES):
        there = old if number % 2 else new
        await _change(gateway, replace(made, vendors=(vendor("cloud", there.url, keys=number + 2),)))
        before = len(there.requests)
        assert (await call(world, gateway, CHAT)).status == 200
        assert len(there.requests) == before + 1, "who comes now goes where the vendor is now"
        old.open(f"change {number}")
    answers = [await reply(client) for client in clients]
    assert [(one.is_done, one.text(CHAT_STREAM)) for one in answers] == [(True, "x" * CHANGES)] * STREAMS
    assert most_open(old) <= STREAMS + 1
    for upstream in (old, new):
        await few_are_open(upstream)
    no_alarm(gateway)


def _paced() -> tuple[Step, ...]:
    """Send a word after each change."""
    words = [step for number in range(CHANGES) for step in (wait(f"change {number}"), chunk(C("x")))]
    return (head(), *words, chunk(F("stop")), chunk(U(7, 2)), chunk(DONE), end())


async def _change(gateway: GatewayUnderTest, changed: Catalogue) -> None:
    assert changed.models[0].name == MODEL
    store = MemoryConfigStore(gateway.store, SystemEntropy())
    applied = await store.apply(changed, actor=TEST, prune=True, dry_run=False)
    await gateway.telemetry.shows(Gauge.SNAPSHOT_VERSION, applied.version)
