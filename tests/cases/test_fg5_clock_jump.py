"""FG5: the wall clock jumps; no timer, window, rest or breaker is affected."""

import pytest

from ktms.domain.routing.breaker import FAILURES_MAX, OPEN_S
from tests.cases.calls import call, one_upstream
from tests.cases.forms import CHAT, CHAT_STREAM
from tests.world.catalogues import KEY, MODEL
from tests.world.client import post
from tests.world.events import DONE, C, F
from tests.world.script import lock_step, status
from tests.world.world import World

YEAR_S = 365 * 86_400.0
JUMPS = pytest.mark.parametrize(
    "jump_s", [-YEAR_S, 3600.0, 10 * YEAR_S], ids=["a-year-back", "an-hour", "ten-years"]
)


@JUMPS
async def test_a_stream_goes_on_through_a_jump_and_its_durations_are_those_of_the_world(
    world: World, jump_s: float
) -> None:
    upstream, gateway = await one_upstream(world)
    words = [C(f"{number} ") for number in range(6)]
    upstream.script(*lock_step(*words, F("stop"), DONE))
    client = await world.client(gateway)
    client.send(post("/v1/chat/completions", {"model": MODEL, "stream": True, "messages": []}, key=KEY))
    for number in range(len(words)):
        assert await client.event() is not None
        if number == 2:
            gateway.clock.jump_wall(jump_s)
        upstream.acknowledge()
    for _ in range(2):
        await client.event()
        upstream.acknowledge()

    record = await gateway.telemetry.record()
    event = await gateway.ledger.event()
    assert (record.status, record.code) == (200, None)
    assert 0 <= record.upstream_s <= record.total_s < 60
    assert 0 <= event.duration_s < 60


@JUMPS
async def test_a_verified_key_stays_verified(world: World, jump_s: float) -> None:
    upstream, gateway = await one_upstream(world)
    gateway.store.away = True
    upstream.standing(CHAT.healthy())
    assert (await call(world, gateway, CHAT)).status == 503  # never seen before, and nobody to ask
    gateway.store.away = False
    assert (await call(world, gateway, CHAT)).status == 200
    gateway.store.away = True
    gateway.clock.jump_wall(jump_s)
    assert (await call(world, gateway, CHAT)).status == 200


@JUMPS
async def test_a_breaker_opens_for_its_time_not_for_the_calendars(world: World, jump_s: float) -> None:
    upstream, gateway = await one_upstream(world)
    for _ in range(FAILURES_MAX):
        upstream.script(*status(500))
        await call(world, gateway, CHAT)
    gateway.clock.jump_wall(jump_s)
    refused = await call(world, gateway, CHAT)
    assert refused.status == 503
    assert refused.retry_after is not None
    assert 1 <= int(refused.retry_after) <= OPEN_S
    gateway.clock.advance(OPEN_S)
    upstream.standing(CHAT_STREAM.healthy())
    assert (await call(world, gateway, CHAT_STREAM)).status == 200


@JUMPS
async def test_a_rest_told_in_seconds_lasts_so_many_seconds(world: World, jump_s: float) -> None:
    upstream, gateway = await one_upstream(world)
    upstream.script(*status(429, (("Retry-After", "7"),)))
    assert (await call(world, gateway, CHAT)).status == 429
    gateway.clock.jump_wall(jump_s)
    assert (await call(world, gateway, CHAT)).status == 503
    gateway.clock.advance(7.5)
    upstream.standing(CHAT.healthy())
    assert (await call(world, gateway, CHAT)).status == 200
