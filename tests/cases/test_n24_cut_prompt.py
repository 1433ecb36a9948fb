"""N24: a prompt that an engine shortened without a word is answered by somebody who has read all of it."""

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import EngineKind
from tests.cases.calls import booked, call, no_alarm
from tests.cases.fleets import fleet_of
from tests.cases.forms import CHAT, CHAT_STREAM
from tests.world.events import DONE, C, F, Json, U, chat_answer
from tests.world.script import answer, stream
from tests.world.world import World

LONG: Json = [{"role": "user", "content": "word " * 7_900}]
CUT_TOKENS = 2050
"""What 4,096 tokens of window leave of it: half, and a handful from the front."""


async def test_the_cloud_answers_instead(world: World) -> None:
    fleet = await fleet_of(world, engine=EngineKind.OLLAMA, window=32_768)
    fleet.node.script(*answer(chat_answer("I lost the thread.", prompt=CUT_TOKENS)))
    fleet.cloud.script(*CHAT.healthy())

    got = await call(world, fleet.gateway, CHAT, messages=LONG)

    assert got.status == 200
    assert got.attempts == "local/upstream:truncated, cloud:ok"
    assert b"lost the thread" not in got.body
    books = await booked(fleet.gateway)
    assert books.statuses == (AttemptStatus.FAILED, AttemptStatus.OK)
    assert books.events[0].usage.prompt_tokens == CUT_TOKENS
    no_alarm(fleet.gateway)


async def test_a_stream_is_shown_and_the_window_told_to_operators(world: World) -> None:
    fleet = await fleet_of(world, engine=EngineKind.OLLAMA, window=32_768)
    fleet.node.script(*stream(C("hm"), F("stop"), U(CUT_TOKENS, 2), DONE))

    got = await call(world, fleet.gateway, CHAT_STREAM, messages=LONG)

    assert got.is_done
    await booked(fleet.gateway)
    told = [one for one in fleet.gateway.telemetry.events if one.name == "window_smaller_than_declared"]
    assert len(told) == 1


async def test_a_prompt_that_is_short_may_be_counted_as_short(world: World) -> None:
    fleet = await fleet_of(world, engine=EngineKind.OLLAMA, window=32_768)
    fleet.node.script(*answer(chat_answer("Fine.", prompt=CUT_TOKENS)))

    assert (await call(world, fleet.gateway, CHAT)).attempts == "local/upstream:ok"
