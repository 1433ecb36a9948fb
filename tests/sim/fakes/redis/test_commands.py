"""The same commands, sent by redis-py, to the simulated server and to a real one: both must answer alike."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, NoScriptError, ResponseError

from ktms.adapters.redis.connect import RedisAway, RedisProbe
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.resp import Answer
from sim.fakes.redis.server import SimRedis

TAKE = "local n = redis.call('incrby', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], ARGV[2]) return n"


def take(data: Keyspace, keys: list[bytes], arguments: list[bytes]) -> Answer:
    """Do what the script does."""
    total = data.add(keys[0], int(arguments[0]))
    data.expire(keys[0], int(arguments[1]))
    return total


@asynccontextmanager
async def listening(server: SimRedis) -> AsyncIterator[int]:
    sockets = await asyncio.get_running_loop().create_server(server.connection, "127.0.0.1", 0)
    async with sockets:
        yield sockets.sockets[0].getsockname()[1]


@pytest.fixture
async def sim_url() -> AsyncIterator[str]:
    server = SimRedis(password="sesame")
    server.register(TAKE, take)
    async with listening(server) as port:
        yield f"redis://:sesame@127.0.0.1:{port}/0"


async def tell(client: Redis, *words: str) -> None:
    await client.execute_command(*words)  # type: ignore[no-untyped-call]  # redis-py says nothing of its type


@pytest.fixture(params=["sim", pytest.param("valkey", marks=pytest.mark.service)])
def url(request: pytest.FixtureRequest) -> str:
    made: str = request.getfixturevalue(f"{request.param}_url")
    return made


@pytest.fixture(params=[2, 3])
async def client(request: pytest.FixtureRequest, url: str) -> AsyncIterator[Redis]:
    client = Redis.from_url(url, protocol=request.param)
    await client.script_flush()
    yield client
    await client.aclose()


async def test_a_ping_is_answered(client: Redis) -> None:
    assert await client.ping() is True


async def test_a_value_is_given_back(client: Redis) -> None:
    assert await client.set("key", b"\x00\r\n") is True
    assert await client.get("key") == b"\x00\r\n"
    assert await client.get("other") is None


async def test_a_lease_is_taken_once(client: Redis) -> None:
    assert await client.set("lease", "a", nx=True, px=5000) is True
    assert await client.set("lease", "b", nx=True, px=5000) is None
    assert await client.get("lease") == b"a"
    assert 4000 < await client.pttl("lease") <= 5000


async def test_only_what_is_there_is_replaced_where_that_was_asked(client: Redis) -> None:
    assert await client.set("key", "a", xx=True) is None
    await client.set("key", "b")
    assert await client.set("key", "c", xx=True, ex=9) is True


async def test_deleting_counts_what_was_there(client: Redis) -> None:
    await client.set("a", "1")
    await client.set("b", "1")
    assert await client.delete("a", "b", "c") == 2


async def test_counting_counts(client: Redis) -> None:
    assert [await client.incrby("n", 5), await client.incrby("n", -7)] == [5, -2]


@pytest.mark.parametrize("stored", ["word", "9223372036854775807"])
async def test_what_is_no_integer_is_not_counted_with(client: Redis, stored: str) -> None:
    await client.set("n", stored)
    with pytest.raises(ResponseError):
        await client.incrby("n", 1)


async def test_times_to_live_are_told(client: Redis) -> None:
    await client.set("key", "1")
    assert [await client.pttl("none"), await client.pttl("key")] == [-2, -1]
    assert [await client.pexpire("none", 1000), await client.pexpire("key", 1000)] == [False, True]


async def test_the_time_is_seconds_and_microseconds_of_this_century(client: Redis) -> None:
    seconds, us = await client.time()
    assert 1_700_000_000 < seconds < 4_102_444_800
    assert 0 <= us < 1_000_000


async def test_a_pipeline_is_answered_in_order(client: Redis) -> None:
    pipeline = client.pipeline(transaction=False)
    for number in range(100):
        _ = pipeline.incrby("n", number)
    assert await pipeline.execute() == [sum(range(number + 1)) for number in range(100)]


async def test_an_unknown_command_is_an_error_and_the_connection_goes_on(client: Redis) -> None:
    with pytest.raises(ResponseError, match="unknown command"):
        await tell(client, "FROBNICATE")
    assert await client.ping()


async def test_too_few_arguments_are_an_error(client: Redis) -> None:
    with pytest.raises(ResponseError, match="wrong number of arguments"):
        await tell(client, "GET")


@pytest.mark.parametrize("options", [("PX",), ("PX", "0"), ("NX", "XX"), ("PX", "x"), ("SOON",)])
async def test_wrong_options_are_an_error(client: Redis, options: tuple[str, ...]) -> None:
    with pytest.raises(ResponseError):
        await tell(client, "SET", "key", "value", *options)


@pytest.mark.parametrize(
    "words",
    [
        ("HELLO", "4"),
        ("HELLO", "3", "AUTH", "default", "wrong"),
        ("HELLO", "3", "SOON"),
        ("AUTH", "wrong"),
        ("AUTH", "nobody", "wrong"),
        ("SELECT", "99"),
        ("SELECT", "x"),
        ("CLIENT", "FROBNICATE"),
        ("SCRIPT", "FROBNICATE"),
    ],
)
async def test_what_a_session_may_not_do_is_an_error(client: Redis, words: tuple[str, ...]) -> None:
    with pytest.raises((ResponseError, AuthenticationError)):
        await tell(client, *words)
    assert await client.ping()


@pytest.mark.parametrize(
    "words", [("HELLO",), ("SELECT", "0"), ("CLIENT", "SETNAME", "x"), ("CLIENT", "ID"), ("PING", "x")]
)
async def test_what_a_session_may_do_is_no_error(client: Redis, words: tuple[str, ...]) -> None:
    await tell(client, *words)
    assert await client.ping()


async def test_a_script_must_be_loaded_before_it_is_run_by_its_digest(client: Redis) -> None:
    script = client.register_script(TAKE)
    with pytest.raises(NoScriptError):
        await client.evalsha(script.sha, 1, "slots", 1, 5000)
    assert await client.script_exists(script.sha) == [False]


async def test_a_script_is_loaded_by_the_client_when_it_is_missing(client: Redis) -> None:
    script = client.register_script(TAKE)
    assert [await script(["slots"], [2, 5000]) for _ in range(2)] == [2, 4]
    assert await client.script_exists(script.sha) == [True]
    assert await client.pttl("slots") > 0


async def test_a_script_may_be_run_by_its_text(client: Redis) -> None:
    assert await client.eval(TAKE, 1, "slots", 3, 5000) == 3


async def test_more_keys_than_arguments_are_an_error(client: Redis) -> None:
    with pytest.raises(ResponseError):
        await client.eval(TAKE, 4, "slots")


async def test_a_wrong_password_is_refused(url: str) -> None:
    client = Redis.from_url("redis://:wrong@" + url.split("@")[1])
    with pytest.raises(AuthenticationError):
        await client.ping()
    await client.aclose()


async def test_without_a_password_nothing_is_answered(url: str) -> None:
    client = Redis.from_url("redis://" + url.split("@")[1])
    with pytest.raises(AuthenticationError):
        await client.ping()
    await client.aclose()


async def test_a_script_without_a_twin_is_an_error(sim_url: str) -> None:
    client = Redis.from_url(sim_url)
    with pytest.raises(ResponseError, match="no twin"):
        await client.script_load("return 2")
    await client.aclose()


async def test_our_probe_finds_it_there(url: str) -> None:
    probe = RedisProbe(url, 1.0)
    await probe.ping()
    await probe.close()


@pytest.mark.parametrize("fault", ["redis_away", "redis_hung"])
async def test_our_probe_finds_it_away_and_there_again(fault: str) -> None:
    server = SimRedis()
    async with listening(server) as port:
        probe = RedisProbe(f"redis://127.0.0.1:{port}/0", 0.1)
        await probe.ping()
        server.mode(fault, on=True)
        with pytest.raises(RedisAway):
            await probe.ping()
        server.mode(fault, on=False)
        await probe.ping()
        await probe.close()
