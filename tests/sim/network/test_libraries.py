"""The libraries of the product, unmodified, over the simulated network."""

import asyncio
from collections.abc import Callable

import pytest
import redis.asyncio
from aiohttp import web
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Prologue, UpstreamFailed, UpstreamRequest
from tests.sim.network.lab import A, B, Lab
from tests.sim.network.small_world import SmallWorld

TIMERS = Timers(pool_s=1, connect_s=2, first_token_s=5, idle_s=3, total_s=20)
ORIGIN = Origin("http", "b", 80, "", Reach.PRIVATE)


async def _serve_echo() -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read(), headers={"X-From": str(request.remote)})

    app = web.Application(client_max_size=2**30)
    app.router.add_post("/echo", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 80).start()


async def _ask(upstream: HttpUpstream, body: bytes) -> tuple[int, bytes, str | None]:
    answer = await upstream.send(UpstreamRequest(ORIGIN, Prologue("POST", "/echo", ()), body, TIMERS))
    found = answer.status, await answer.read(2**30), answer.header("x-from")
    answer.close()
    return found


async def _ask_once(body: bytes) -> tuple[int, bytes, str | None]:
    upstream = HttpUpstream(UpstreamSettings(), AddressRules())
    try:
        return await _ask(upstream, body)
    finally:
        await upstream.close()


def test_our_client_and_the_server_of_aiohttp_speak_with_each_other(lab: Lab) -> None:
    lab.run(B, _serve_echo())
    assert lab.run(A, _ask_once(b"hello")) == (200, b"hello", "10.0.0.1")


def test_a_body_of_many_windows_arrives_whole_both_ways(lab: Lab) -> None:
    lab.run(B, _serve_echo())
    lab.network.link("a", "b").slice_max_bytes = 20_000
    body = bytes(range(256)) * 16_384
    assert lab.run(A, _ask_once(body))[1] == body


def test_our_client_keeps_connections(lab: Lab) -> None:
    lab.run(B, _serve_echo())

    async def twice() -> tuple[int, int]:
        upstream = HttpUpstream(UpstreamSettings(), AddressRules())
        await _ask(upstream, b"1")
        await _ask(upstream, b"2")
        found = upstream.open_connections, lab.network.open_of("b")
        await upstream.close()
        return found

    assert lab.run(A, twice()) == (1, 1)


@pytest.mark.parametrize(
    ("strike", "kind", "after_s"),
    [
        (lambda lab: lab.network.refuse("b", on=True), FailureKind.REFUSED, 0.001),
        (lambda lab: lab.network.black_hole("a", "b", on=True), FailureKind.CONNECT_TIMEOUT, 2.0),
        (lambda lab: lab.network.vanish("b"), FailureKind.CONNECT_TIMEOUT, 2.0),
        (lambda lab: lab.loop.freeze(B, 1e6), FailureKind.FIRST_TOKEN_TIMEOUT, 5.0),
    ],
)
def test_our_client_sees_each_fault_as_what_it_is(
    lab: Lab, strike: Callable[[Lab], None], kind: FailureKind, after_s: float
) -> None:
    lab.run(B, _serve_echo())
    strike(lab)
    began_at = lab.loop.time()
    with pytest.raises(UpstreamFailed) as caught:
        lab.run(A, _ask_once(b"hello"))
    assert caught.value.kind is kind
    assert lab.loop.time() - began_at == pytest.approx(after_s, abs=0.002)


async def _serve_redis(*, answers: bool = True) -> None:
    values: dict[bytes, bytes] = {}

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            words = []
            for _ in range(int(line[1:])):
                size = int((await reader.readline())[1:])
                words.append((await reader.readexactly(size + 2))[:-2])
            if answers:
                writer.write(_reply(values, words))
        writer.close()

    await asyncio.start_server(speak, None, 6379)


def _reply(values: dict[bytes, bytes], words: list[bytes]) -> bytes:
    if words[0] == b"GET":
        found = values.get(words[1], b"")
        return b"$%d\r\n%b\r\n" % (len(found), found)
    if words[0] == b"SET":
        values[words[1]] = words[2]
    return b"+OK\r\n"


async def _set_and_get() -> object:
    async with redis.asyncio.Redis(
        host="b", protocol=2, socket_timeout=0.25, retry=Retry(NoBackoff(), 0)
    ) as store:
        await store.set("key", "value")
        return await store.get("key")


def test_redis_py_works(lab: Lab) -> None:
    lab.run(B, _serve_redis())
    assert lab.run(A, _set_and_get()) == b"value"


def test_redis_py_gives_up_on_a_server_that_hangs_when_it_said_it_would(lab: Lab) -> None:
    lab.run(B, _serve_redis(answers=False))
    began_at = lab.loop.time()
    with pytest.raises(RedisTimeoutError):
        lab.run(A, _set_and_get())
    assert lab.loop.time() - began_at == pytest.approx(0.25, abs=0.005)


def test_redis_py_is_refused_where_nobody_listens(lab: Lab) -> None:
    with pytest.raises(RedisConnectionError):
        lab.run(A, _set_and_get())


def test_a_relay_with_redis_beside_it_serves_streams_without_an_error_of_the_loop() -> None:
    world = SmallWorld(3)
    world.run(20, faults=False)
    world.loop.close()
    assert world.ends == ["200"] * 20
    assert world.received.count(b"data: token 9\n\n") == 20
    assert world.loop.unhandled == []
