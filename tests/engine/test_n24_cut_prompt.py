"""N24: an engine that shortens a prompt without a word is found out by its own count of tokens."""

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Head
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import EngineKind
from ktms.engine.call import Streamed
from tests.engine.ends import health, story
from tests.engine.machines import machine, machines, seat_of
from tests.engine.rig import EVENTS, JSON, replica_of, whole
from tests.world.events import DONE, C, F, U, chat_answer


async def test_n24_a_prompt_that_was_cut_in_silence_goes_elsewhere_and_the_window_is_known() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.OLLAMA, window=32_768)))
    rig.says("mac-1", (Head(200, JSON), chat_answer("hm", prompt=2050)))
    rig.says("alpha", whole())
    prompt = "word " * 8_000
    call = rig.call("mixed", messages=[{"role": "user", "content": prompt}])
    assert story(await rig.handle(call)) == "local/mac-1:truncated, alpha:ok"
    assert seat_of(rig.machines.fleet, "mac-1").window == 4100
    await rig.sweeper.look()
    again = rig.call("mixed", messages=[{"role": "user", "content": prompt}])
    assert story(await rig.handle(again)) == "local/mac-1:unfit, alpha:ok"
    assert health(rig) is Health.HEALTHY


async def test_n24_a_window_that_nobody_declared_is_found_out_too() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.OLLAMA)))
    rig.says("mac-1", (Head(200, JSON), chat_answer("hm", prompt=2050)))
    rig.says("alpha", whole())
    call = rig.call("mixed", messages=[{"role": "user", "content": "word " * 8_000}])
    assert story(await rig.handle(call)) == "local/mac-1:truncated, alpha:ok"
    assert seat_of(rig.machines.fleet, "mac-1").window == 4100


async def test_n24_a_stream_is_shown_and_the_window_is_known_for_the_next() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.OLLAMA, window=32_768)))
    rig.says("mac-1", (Head(200, EVENTS), C("hm"), F("stop"), U(2050, 2), DONE))
    client = MemoryClient()
    call = rig.call("mixed", stream=True, messages=[{"role": "user", "content": "word " * 8_000}])
    assert await rig.handle(call, client) == Streamed()
    assert seat_of(rig.machines.fleet, "mac-1").window == 4100


async def test_an_engine_that_refuses_long_prompts_may_count_as_it_likes() -> None:
    rig = await replica_of(machines(machine("mac-1", window=32_768)))
    rig.says("mac-1", (Head(200, JSON), chat_answer("hm", prompt=2050)))
    call = rig.call("mixed", messages=[{"role": "user", "content": "word " * 8_000}])
    assert story(await rig.handle(call)) == "local/mac-1:ok"
