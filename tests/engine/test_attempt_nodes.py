"""Attempts at machines of ours: who answered, what an engine says of its own speed, prompts cut in silence."""

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Head, Script
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import EngineKind
from ktms.domain.errors import ErrorCode
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Failed, Result, Streamed, Whole
from tests.engine.machines import ONE, machine, machines, seat_of
from tests.engine.rig import EVENTS, JSON, NODE_MODEL, Rig, replica_of, whole
from tests.world.events import DONE, VENDOR_MODEL, C, F, U, chat_answer, event

OTHER = "somebody-else:8b"


def renamed(script: Script, name: str) -> Script:
    """Let an answer name another model."""
    return tuple(
        step.replace(VENDOR_MODEL.encode(), name.encode()) if isinstance(step, bytes) else step for step in script
    )


STREAM: Script = (Head(200, EVENTS), C("a"), F("stop"), U(7, 1), DONE)


async def rig_with(engine: EngineKind, *, models: tuple[str, ...] = (NODE_MODEL,), name: str = OTHER) -> Rig:
    """Make a rig whose node answers under another name, before a cloud that answers well."""
    rig = await replica_of(machines(machine("mac-1", engine=engine, models=models)))
    rig.says("alpha", whole())
    rig.says("mac-1", renamed(whole(), name))
    return rig


def story(result: Result) -> str:
    assert isinstance(result, Whole | Failed), result
    return dict(result.headers).get("X-KTMS-Attempts", "")


@pytest.mark.parametrize("engine", [EngineKind.VLLM, EngineKind.OLLAMA, EngineKind.AGENT], ids=str)
async def test_n27_an_answer_of_another_model_goes_elsewhere(engine: EngineKind) -> None:
    rig = await rig_with(engine)
    result = await rig.handle(rig.call("mixed"))
    assert story(result) == f"local/mac-1:{FailureKind.WRONG_MODEL.value}, alpha:ok"
    state = rig.machines.fleet.state(ONE)
    assert state is not None
    assert state.health is Health.SUSPECT
    assert [booked.status for booked in rig.ledger.events] == [AttemptStatus.FAILED, AttemptStatus.OK]


@pytest.mark.parametrize("engine", [EngineKind.VLLM, EngineKind.OLLAMA, EngineKind.AGENT], ids=str)
async def test_n27_not_a_byte_of_a_stream_of_another_model_is_shown(engine: EngineKind) -> None:
    rig = await rig_with(engine)
    rig.says("mac-1", renamed((Head(200, EVENTS), C("secret"), F("stop"), DONE), OTHER))
    rig.says("alpha", (Head(200, EVENTS), C("fine"), F("stop"), DONE))
    client = MemoryClient()
    assert await rig.handle(rig.call("mixed", stream=True), client) == Streamed()
    assert b"secret" not in client.body
    assert client.headers is not None
    assert dict(client.headers)["X-KTMS-Attempts"] == "local/mac-1:wrong_model, alpha:ok"


async def test_n27_where_nobody_else_is_left_it_is_an_error_of_ours() -> None:
    rig = await rig_with(EngineKind.VLLM)
    result = await rig.handle(rig.call("homely"))
    assert isinstance(result, Failed)
    assert result.problem.code == ErrorCode.UPSTREAM_ERROR
    assert OTHER not in result.problem.message


@pytest.mark.parametrize("engine", [EngineKind.LLAMACPP, EngineKind.TGI], ids=str)
async def test_engines_that_do_not_tell_may_call_themselves_anything(engine: EngineKind) -> None:
    rig = await rig_with(engine)
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"


async def test_any_of_vllms_aliases_may_answer() -> None:
    rig = await rig_with(EngineKind.VLLM, models=("org/model", NODE_MODEL), name="org/model")
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"
    rig.says("mac-1", renamed(STREAM, "org/model"))
    assert await rig.handle(rig.call("mixed", stream=True)) == Streamed()


async def test_another_model_of_an_ollama_is_another_model() -> None:
    rig = await rig_with(EngineKind.OLLAMA, models=("other", NODE_MODEL), name="other")
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:wrong_model, alpha:ok"


@pytest.mark.parametrize("told", [f"{NODE_MODEL}:latest", NODE_MODEL.upper()])
async def test_a_name_spelled_out_is_the_same_name(told: str) -> None:
    rig = await rig_with(EngineKind.OLLAMA, name=told)
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"


async def test_an_answer_without_a_name_may_be_anybodys() -> None:
    rig = await rig_with(EngineKind.VLLM)
    rig.says("mac-1", (Head(200, JSON), chat_answer("a").replace(b'"model":"%b",' % VENDOR_MODEL.encode(), b"")))
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"


async def test_a_wrong_model_teaches_no_speed() -> None:
    rig = await rig_with(EngineKind.VLLM)
    await rig.handle(rig.call("mixed"))
    assert rig.machines.fleet.meter(seat_of(rig.machines.fleet, "mac-1")).samples == 0


TIMINGS = {"prompt_n": 500, "prompt_ms": 1000.0, "predicted_n": 50, "predicted_ms": 2000.0}


@pytest.mark.parametrize("streamed", [False, True])
async def test_what_llama_cpp_says_of_its_own_speed_is_believed(streamed: bool) -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    last = event({"id": "x", "object": "chat.completion.chunk", "choices": [], "timings": TIMINGS})
    rig.says(
        "mac-1",
        (Head(200, EVENTS), C("a"), F("stop"), U(500, 50), last, DONE) if streamed else whole(timings=TIMINGS),
    )
    await rig.handle(rig.call("homely", stream=streamed))
    meter = rig.machines.fleet.meter(seat_of(rig.machines.fleet, "mac-1"))
    assert (meter.prefill_tokens_per_s, meter.decode_tokens_per_s) == (500.0, 25.0)
