import asyncio

import pytest
from redis.exceptions import MovedError, ResponseError

from ktms.adapters.redis.line import Line, LineBroken
from tests.adapters.redis.stand_in import PATIENT_S, StandIn, standing_in, until


async def connected(url: str, timeout_s: float = PATIENT_S) -> Line:
    line = Line(url, timeout_s)
    await line.connect()
    return line


async def test_answers_come_in_the_order_of_what_was_asked(valkey_url: str) -> None:
    line = await connected(valkey_url)
    assert await line.exchange([("SET", "key", 1), ("GET", "key"), ("DEL", "key")]) == [b"OK", b"1", 1]
    await line.drop()


async def test_a_refusal_is_an_answer_like_others(valkey_url: str) -> None:
    line = await connected(valkey_url)
    first, second = await line.exchange([("NONSENSE",), ("PING",)])
    assert isinstance(first, ResponseError)
    assert second == b"PONG"
    await line.drop()


async def test_connecting_twice_makes_one_connection(stand_in: StandIn) -> None:
    line = await connected(stand_in.url)
    await line.connect()
    await line.exchange([("PING",)])
    assert stand_in.connected == 1
    await line.drop()


async def test_a_refused_connection_is_away() -> None:
    with pytest.raises(LineBroken, match="away"):
        await connected("redis://127.0.0.1:1")


async def test_a_wrong_password_is_an_error_and_not_shown(valkey_url: str) -> None:
    with pytest.raises(LineBroken, match="error") as told:
        await connected("redis://:wrong-secret@" + valkey_url.split("@")[1])
    assert "wrong-secret" not in str(told.value)


async def test_a_server_that_does_not_say_a_word_is_a_timeout(silent_port: int) -> None:
    began_at = asyncio.get_running_loop().time()
    with pytest.raises(LineBroken, match="timeout"):
        await connected(f"redis://:password@127.0.0.1:{silent_port}", 0.02)
    assert asyncio.get_running_loop().time() - began_at < PATIENT_S


async def test_an_answer_that_does_not_come_is_a_timeout_and_ends_the_connection(stand_in: StandIn) -> None:
    line = await connected(stand_in.url, 0.05)
    stand_in.redis.mode("redis_hung", on=True)
    with pytest.raises(LineBroken, match="timeout"):
        await line.exchange([("PING",)])
    stand_in.redis.mode("redis_hung", on=False)
    await line.connect()
    assert await line.exchange([("PING",)]) == [b"PONG"]
    assert stand_in.connected == 2
    await line.drop()


async def test_a_connection_lost_before_the_answer_is_away(stand_in: StandIn) -> None:
    line = await connected(stand_in.url)
    stand_in.redis.mode("redis_hung", on=True)
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(told(line))
        await until(lambda: stand_in.pieces > 0)
        stand_in.redis.mode("redis_away", on=True)
    assert asking.result() == "away"


async def told(line: Line) -> str:
    with pytest.raises(LineBroken) as broken:
        await line.exchange([("PING",)])
    return broken.value.kind


@pytest.mark.parametrize("steps", range(1, 20))
async def test_a_cancellation_while_it_connects_is_not_lost(valkey_url: str, steps: int) -> None:
    line = Line(valkey_url, PATIENT_S)
    async with asyncio.TaskGroup() as group:
        connecting = group.create_task(line.connect())
        for _ in range(steps):
            await asyncio.sleep(0)
        late = connecting.done()
        connecting.cancel()
    assert connecting.cancelled() or late
    await line.drop()


async def test_where_a_cluster_points_is_followed_and_forgotten_when_nobody_is_there(stand_in: StandIn) -> None:
    async with standing_in() as other:
        line = await connected(stand_in.url)
        await line.drop()
        line.follow(MovedError(f"1234 127.0.0.1:{other.port}"))
        await line.connect()
        assert other.connected == 1
        await line.drop()
    line.follow(MovedError("1234 127.0.0.1:1"))
    with pytest.raises(LineBroken):
        await line.connect()
    await line.connect()
    assert stand_in.connected == 2
    await line.drop()


async def test_a_cluster_that_names_no_host_means_the_same_one(stand_in: StandIn) -> None:
    line = Line("redis+cluster://127.0.0.1:1", PATIENT_S)
    line.follow(MovedError(f"1234 :{stand_in.port}"))
    await line.connect()
    assert stand_in.connected == 1
    await line.drop()


async def test_silence_is_told_where_something_may_or_must_be_said(stand_in: StandIn) -> None:
    line = await connected(stand_in.url, 0.02)
    assert await line.next(0.01) is None
    with pytest.raises(LineBroken, match="timeout"):
        await line.expect()
    await line.send(("PING",))
    assert await line.expect() == b"PONG"
    await line.drop()


async def test_a_lost_connection_is_told_to_who_listens_and_who_sends(stand_in: StandIn) -> None:
    line = await connected(stand_in.url)
    await line.exchange([("PING",)])
    stand_in.redis.mode("redis_away", on=True)
    with pytest.raises(LineBroken, match="away"):
        await line.next(PATIENT_S)
    await line.drop()
