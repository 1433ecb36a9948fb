"""An Ollama looked at, with and without its processes; warmed, and never changed."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.look import NotWarm
from ktms.node.engines.ollama import UNSHOWN_MAX, Ollama, Placed, slots_of
from ktms.node.engines.ollama_pages import Tag
from ktms.node.engines.ollama_process import Child
from ktms.node.engines.ollama_window import Serving
from ktms.node.machine import Machine
from ktms.node.state import EngineState, ModelState
from tests.node.engines.recorded_machine import RecordedMachine, child
from tests.node.fakes.llamacpp import FakeLlamaCpp, LlamaModel
from tests.node.fakes.ollama import GIB, FakeOllama, OllamaModel
from tests.node.fakes.serving import serving

READS = {"GET /api/version", "GET /api/tags", "GET /api/ps", "POST /api/show"}


@pytest.fixture
async def ollama() -> AsyncIterator[FakeOllama]:
    async with serving(FakeOllama(OllamaModel("qwen3:4b"))) as engine:
        yield engine


@pytest.fixture
async def runner() -> AsyncIterator[FakeLlamaCpp]:
    """The child that serves the model of `ollama`."""
    async with serving(FakeLlamaCpp(LlamaModel(slots=4))) as engine:
        yield engine


def looker(ollama: FakeOllama, session: aiohttp.ClientSession, machine: Machine | None = None) -> Ollama:
    return Ollama(ollama.url, session, machine)


def only(state: EngineState) -> ModelState:
    (model,) = state.models
    return model


async def test_an_idle_ollama_tells_its_version_and_models(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    state = await looker(ollama, session).look()
    assert state == EngineState(
        EngineKind.OLLAMA, answers=True, version="0.33.0", models=(ModelState("qwen3:4b", loaded=False),)
    )


async def test_a_look_asks_only_what_changes_nothing(ollama: FakeOllama, session: aiohttp.ClientSession) -> None:
    ollama.models[0].place = "memory"
    engine = looker(ollama, session)
    for _ in range(3):
        await engine.look()
    assert set(ollama.asked) <= READS
    assert ollama.count("POST /api/show") == 1


async def test_a_model_in_memory_that_has_answered_is_loaded(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    engine = looker(ollama, session)
    assert only(await engine.look()) == ModelState("qwen3:4b", 4096, loaded=True, on_gpu=1.0)
    assert not engine.is_settling


async def test_a_model_that_is_listed_while_it_loads_is_cold(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "loading"
    engine = looker(ollama, session)
    for _ in range(2):
        model = only(await engine.look())
        assert (model.loaded, model.on_gpu) == (False, None)
        assert engine.is_settling
    ollama.models[0].place = "memory"
    assert only(await engine.look()).loaded


async def test_a_child_that_is_ready_proves_a_model_before_its_first_answer(
    ollama: FakeOllama, runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "loading"
    machine = RecordedMachine()
    machine.runs_ollama(child(runner.port))
    runner.loading = True
    engine = looker(ollama, session, machine)
    assert only(await engine.look()).loaded is False
    runner.loading = False
    assert only(await engine.look()).loaded


async def test_slots_are_those_of_the_child(
    ollama: FakeOllama, runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    machine = RecordedMachine()
    machine.runs_ollama(child(runner.port, slots=2), env="HOME=/u\0OLLAMA_NUM_PARALLEL=8\0")
    assert (await looker(ollama, session, machine).look()).slots == 2


async def test_the_child_tells_who_is_still_served_and_how_fast(
    ollama: FakeOllama, runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    machine = RecordedMachine()
    machine.runs_ollama(child(runner.port))
    engine = looker(ollama, session, machine)
    assert (await engine.look()).busy == 0
    runner.models[0].busy = {0: (1, 10), 2: (2, 10)}
    assert (await engine.look()).busy == 2
    runner.models[0].busy = {0: (1, 1010), 2: (2, 1010)}
    state = await engine.look()
    assert only(state).tokens_per_s is not None


async def test_another_child_after_a_crash_is_found(
    ollama: FakeOllama, runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    machine = RecordedMachine()
    machine.runs_ollama(child(runner.port))
    engine = looker(ollama, session, machine)
    await engine.look()
    await runner.stop()
    assert (await engine.look()).busy is None
    async with serving(FakeLlamaCpp(LlamaModel(busy={1: (1, 1)}))) as another:
        machine.runs_ollama(child(another.port))
        assert (await engine.look()).busy == 1


async def test_processes_are_listed_only_when_something_else_is_in_memory(
    ollama: FakeOllama, runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    machine = RecordedMachine()
    machine.runs_ollama(child(runner.port))
    engine = looker(ollama, session, machine)
    for _ in range(4):
        await engine.look()
    assert len(machine.ran) == 2
    ollama.models[0].window = 8192
    await engine.look()
    assert len(machine.ran) == 3


@pytest.mark.parametrize(
    ("model", "env", "window"),
    [
        (OllamaModel("m", num_ctx=2048), "HOME=/u\0OLLAMA_CONTEXT_LENGTH=8192\0", 2048),
        (OllamaModel("m"), "HOME=/u\0OLLAMA_CONTEXT_LENGTH=8192\0", 8192),
        (OllamaModel("m"), "HOME=/u\0", 4096),
        (OllamaModel("m", trained=2048), "HOME=/u\0", 2048),
        (OllamaModel("m", place="memory", window=16_384, num_ctx=2048), "HOME=/u\0", 16_384),
        (OllamaModel("m", place="memory", window=None, num_ctx=2048), "HOME=/u\0", 2048),
    ],
    ids=["modelfile", "environment", "no-gpu", "trained", "in-memory", "older-ps"],
)
async def test_the_window_is_that_of_a_call(
    session: aiohttp.ClientSession, model: OllamaModel, env: str, window: int
) -> None:
    machine = RecordedMachine()
    machine.runs_ollama(env=env)
    async with serving(FakeOllama(model)) as ollama:
        assert only(await looker(ollama, session, machine).look()).context_window == window


@pytest.mark.parametrize(
    "model",
    [
        OllamaModel("nomic-embed-text:latest", able=["embedding"]),
        OllamaModel("nomic-embed-text:latest", able=None, able_shown=["embedding"]),
        OllamaModel("big:cloud", remote_host="https://ollama.example"),
        OllamaModel("gpt-oss:120b-cloud"),
    ],
    ids=["embeds", "embeds-by-show", "stub", "cloud-by-name"],
)
async def test_what_is_no_chat_model_of_this_machine_is_not_offered(
    session: aiohttp.ClientSession, model: OllamaModel
) -> None:
    async with serving(FakeOllama(model)) as ollama:
        state = await looker(ollama, session).look()
    assert state.answers
    assert state.models == ()
    assert not any(body.get("model", "").endswith("cloud") for body in ollama.bodies)


async def test_an_old_ollama_that_tells_no_abilities_offers_all(session: aiohttp.ClientSession) -> None:
    async with serving(FakeOllama(OllamaModel("m", able=None))) as ollama:
        assert only(await looker(ollama, session).look()).name == "m"


async def test_a_split_model_tells_its_share(session: aiohttp.ClientSession) -> None:
    model = OllamaModel("m", place="memory", size=8 * GIB, size_vram=2 * GIB)
    async with serving(FakeOllama(model)) as ollama:
        assert only(await looker(ollama, session).look()).on_gpu == 0.25


async def test_many_models_are_read_over_several_looks(session: aiohttp.ClientSession) -> None:
    models = [OllamaModel(f"m{at}", able=None) for at in range(40)]
    async with serving(FakeOllama(*models)) as ollama:
        engine = looker(ollama, session)
        assert len((await engine.look()).models) < 40
        assert engine.is_settling
        await engine.look()
        assert len((await engine.look()).models) == 40
        assert not engine.is_settling


async def test_a_model_that_cannot_be_read_in_detail_is_offered_in_the_end(
    session: aiohttp.ClientSession,
) -> None:
    async with serving(FakeOllama(OllamaModel("m", able=None))) as ollama:
        ollama.shows = False
        engine = looker(ollama, session)
        offered = [len((await engine.look()).models) for _ in range(UNSHOWN_MAX)]
    assert offered == [0] * (UNSHOWN_MAX - 1) + [1]
    assert not engine.is_settling


async def test_while_memory_is_not_listed_what_was_known_of_it_stays(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "memory"
    engine = looker(ollama, session)
    known = await engine.look()
    ollama.lists_memory = False
    assert await engine.look() == known


async def test_a_model_that_loads_is_not_proved_by_a_list_that_fails(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    ollama.models[0].place = "loading"
    engine = looker(ollama, session)
    await engine.look()
    ollama.lists_memory = False
    assert only(await engine.look()).loaded is False


async def test_another_program_on_the_port_is_not_the_engine(
    runner: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    assert await Ollama(runner.url, session).look() == EngineState(EngineKind.OLLAMA)


async def test_nobody_on_the_port_is_no_answer(ollama: FakeOllama, session: aiohttp.ClientSession) -> None:
    engine = looker(ollama, session)
    await ollama.stop()
    assert await engine.look() == EngineState(EngineKind.OLLAMA)


async def test_silence_is_no_answer_and_ends_in_time(ollama: FakeOllama, session: aiohttp.ClientSession) -> None:
    ollama.silent = True
    loop = asyncio.get_running_loop()
    begun = loop.time()
    assert not (await looker(ollama, session).look()).answers
    assert loop.time() - begun < 4.5


async def test_warming_generates_one_token_with_the_options_of_a_call(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    engine = looker(ollama, session)
    await engine.warm("qwen3:4b")
    load, ask = ollama.bodies
    assert load == {"model": "qwen3:4b", "keep_alive": -1, "stream": False}
    assert ask["max_tokens"] == 1
    assert "options" not in ask
    assert ollama.reloads == 0
    assert only(await engine.look()).loaded


@pytest.mark.parametrize("name", ["big:cloud", "none:1b", "embed:latest"])
async def test_what_cannot_be_warmed_says_so(
    ollama: FakeOllama, session: aiohttp.ClientSession, name: str
) -> None:
    ollama.models.append(OllamaModel("embed:latest", able=["embedding"]))
    with pytest.raises(NotWarm):
        await looker(ollama, session).warm(name)


async def test_a_cloud_stub_is_not_even_asked_for(ollama: FakeOllama, session: aiohttp.ClientSession) -> None:
    with pytest.raises(NotWarm, match="not on this machine"):
        await looker(ollama, session).warm("big:cloud")
    assert ollama.asked == []


async def test_an_answer_of_another_model_warms_nothing(
    ollama: FakeOllama, session: aiohttp.ClientSession
) -> None:
    ollama.answers_as = "llama3:latest"
    with pytest.raises(NotWarm, match="another model"):
        await looker(ollama, session).warm("qwen3:4b")


async def test_nobody_to_be_warmed_says_so(ollama: FakeOllama, session: aiohttp.ClientSession) -> None:
    engine = looker(ollama, session)
    await ollama.stop()
    with pytest.raises(NotWarm, match="nobody listens"):
        await engine.warm("qwen3:4b")


CHAT, ALONE = Tag("a", "", "llama"), Tag("b", "", "qwen35")


@pytest.mark.parametrize(
    ("models", "parallel", "slots"),
    [
        ([Placed(CHAT)], 4, 4),
        ([Placed(CHAT)], 0, 1),
        ([Placed(CHAT)], None, None),
        ([Placed(ALONE)], 4, 1),
        ([Placed(ALONE)], None, 1),
        ([Placed(CHAT), Placed(ALONE)], 4, 1),
        ([Placed(CHAT, in_memory=True), Placed(ALONE)], 4, 4),
        ([Placed(CHAT, in_memory=True, child=Child(2, None, None)), Placed(ALONE)], None, 2),
        ([Placed(ALONE, in_memory=True, child=Child(1, None, None)), Placed(CHAT)], 4, 1),
        ([Placed(CHAT, in_memory=True), Placed(ALONE, in_memory=True)], None, None),
        ([Placed(CHAT, in_memory=True, child=Child(9999, None, None))], None, 1024),
        ([], 4, None),
    ],
)
def test_slots_are_never_more_than_are_served_at_once(
    models: list[Placed], parallel: int | None, slots: int | None
) -> None:
    assert slots_of(models, Serving(parallel=parallel)) == slots
