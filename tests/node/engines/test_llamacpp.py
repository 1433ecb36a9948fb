"""A llama.cpp server looked at: alone, as a router, loading, asleep; and a real one."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.found import find_engines
from ktms.node.engines.http import Page
from ktms.node.engines.llamacpp import LlamaCpp, is_loading_page, speaks, status_of
from ktms.node.engines.look import NotWarm
from ktms.node.state import EngineState, ModelState
from tests.e2e.engine.llama_process import LlamaServer
from tests.node.engines.recorded_machine import RecordedMachine
from tests.node.fakes.llamacpp import PATH, FakeLlamaCpp, LlamaModel
from tests.node.fakes.serving import serving


@pytest.fixture
async def llama() -> AsyncIterator[FakeLlamaCpp]:
    async with serving(FakeLlamaCpp()) as engine:
        yield engine


async def test_a_server_tells_slots_and_a_divided_window(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    assert await LlamaCpp(llama.url, session).look() == EngineState(
        EngineKind.LLAMACPP,
        answers=True,
        version="b7500-3f1a2c9",
        slots=4,
        busy=0,
        models=(ModelState(PATH, 1024, loaded=True),),
    )


async def test_slots_with_windows_of_their_own_keep_them(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    machine = RecordedMachine()
    machine.runs(f"9 1 /opt/llama-server -m {PATH} --port {llama.port} -c 16384 -np 4 -ngl 0")
    engine = LlamaCpp(llama.url, session, machine)
    (model,) = (await engine.look()).models
    assert (model.context_window, model.on_gpu) == (4096, 0.0)
    await engine.look()
    assert len(machine.ran) == 1
    llama.models[0].slots = 2
    await engine.look()
    assert len(machine.ran) == 2


async def test_metrics_tell_what_waits_and_the_speed(llama: FakeLlamaCpp, session: aiohttp.ClientSession) -> None:
    llama.metrics, model = True, llama.models[0]
    model.busy, model.waiting, model.counters = {0: (1, 1), 1: (2, 1)}, 3, (300, 10.0)
    state = await LlamaCpp(llama.url, session).look()
    assert (state.busy, state.models[0].tokens_per_s) == (5, 30)
    assert llama.count("GET /slots") == 0


@pytest.mark.parametrize("old", [True, False])
async def test_without_metrics_slots_tell_what_works(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession, old: bool
) -> None:
    llama.old_slots, llama.models[0].busy = old, {0: (1, 10)}
    engine = LlamaCpp(llama.url, session)
    assert (await engine.look()).busy == 1
    llama.models[0].busy = {0: (1, 500)}
    assert (await engine.look()).models[0].tokens_per_s is not None


async def test_while_weights_are_loaded_it_answers_and_is_cold(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    llama.loading = True
    engine = LlamaCpp(llama.url, session)
    state = await engine.look()
    assert state.answers
    assert state.models == (ModelState(PATH, loaded=False),)
    assert engine.is_settling
    llama.loading = False
    assert (await engine.look()).models[0].loaded
    assert not engine.is_settling


async def test_a_sleeping_server_is_cold_and_is_not_woken(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    llama.sleeping = True
    state = await LlamaCpp(llama.url, session).look()
    assert (state.models[0].loaded, state.busy) == (False, None)
    assert llama.woken == 0


async def test_what_only_embeds_is_not_offered(session: aiohttp.ClientSession) -> None:
    async with serving(FakeLlamaCpp(LlamaModel(able=["embedding"]))) as llama:
        state = await LlamaCpp(llama.url, session).look()
    assert state.answers
    assert state.models == ()


async def test_a_router_tells_what_is_in_memory_and_loads_nothing(session: aiohttp.ClientSession) -> None:
    words = ["loaded", "unloaded", "loading", "sleeping", "failed", "loaded"]
    models = [LlamaModel(f"m{at}", word, slots=2 + at) for at, word in enumerate(words)]
    models[0].busy = {0: (1, 1)}
    async with serving(FakeLlamaCpp(*models, router=True)) as llama:
        engine = LlamaCpp(llama.url, session)
        state = await engine.look()
        assert engine.is_settling
        assert llama.autoloads == 0
    assert [model.loaded for model in state.models] == [True, False, False, False, False, True]
    assert [model.context_window for model in state.models] == [2048, None, None, None, None, 4096 // 7]
    assert (state.slots, state.busy) == (2, 1)


async def test_a_router_with_nothing_in_memory_knows_no_slots(session: aiohttp.ClientSession) -> None:
    async with serving(FakeLlamaCpp(LlamaModel("m", "unloaded"), router=True)) as llama:
        state = await LlamaCpp(llama.url, session).look()
    assert (state.slots, state.busy) == (None, None)


@pytest.mark.parametrize(
    ("card", "does"),
    [
        ({}, True),
        ({"capabilities": ["completion"]}, True),
        ({"capabilities": ["embedding"]}, False),
        ({"architecture": {"output_modalities": ["decisions"]}}, False),
        ({"architecture": {"output_modalities": ["text"]}}, True),
    ],
)
def test_a_model_speaks_unless_it_is_told_otherwise(card: dict[str, object], does: bool) -> None:
    assert speaks(card) is does


@pytest.mark.parametrize(
    ("status", "word"), [({"value": "loaded"}, "loaded"), ("loading", "loading"), (None, None), ({}, None)]
)
def test_a_routers_word_has_two_forms(status: object, word: str | None) -> None:
    assert status_of({"status": status}) == word


@pytest.mark.parametrize("page", [Page(200), Page(503), Page(503, b'{"error":{"type":"unavailable"}}')])
def test_not_every_503_is_a_load(page: Page) -> None:
    assert not is_loading_page(page)


async def test_warming_generates_one_token_and_sets_nothing(
    llama: FakeLlamaCpp, session: aiohttp.ClientSession
) -> None:
    await LlamaCpp(llama.url, session).warm(PATH)
    assert llama.bodies == [{"model": PATH, "prompt": "Hi", "n_predict": 1}]


async def test_what_cannot_be_warmed_says_so(llama: FakeLlamaCpp, session: aiohttp.ClientSession) -> None:
    engine = LlamaCpp(llama.url, session)
    llama.loading = True
    with pytest.raises(NotWarm, match="503"):
        await engine.warm(PATH)
    llama.loading = False
    with pytest.raises(NotWarm, match="another model"):
        await engine.warm("other")
    await llama.stop()
    with pytest.raises(NotWarm, match="nobody listens"):
        await engine.warm(PATH)


async def test_silence_is_no_answer(llama: FakeLlamaCpp, session: aiohttp.ClientSession) -> None:
    llama.silent = True
    assert await LlamaCpp(llama.url, session).look() == EngineState(EngineKind.LLAMACPP)


@pytest.mark.engine
async def test_a_real_server_is_found_looked_at_and_warmed(
    llama_server: LlamaServer, session: aiohttp.ClientSession
) -> None:
    (found,) = await find_engines(session, ports=[llama_server.port])
    assert (found.kind, found.url, found.models) == (
        EngineKind.LLAMACPP,
        llama_server.url,
        (llama_server.model,),
    )
    engine = LlamaCpp(found.url, session, RecordedMachine())
    state = await engine.look()
    usable = llama_server.slot_context_tokens // llama_server.slots
    (model,) = state.models
    assert (model.name, model.context_window, model.loaded) == (llama_server.model, usable, True)
    assert (state.answers, state.version, state.slots) == (True, found.version, llama_server.slots)
    await engine.warm(llama_server.model)


@pytest.mark.engine
async def test_a_real_server_tells_that_it_works_and_how_fast_it_was(
    llama_server: LlamaServer, session: aiohttp.ClientSession
) -> None:
    engine = LlamaCpp(llama_server.url, session)
    body = {"prompt": "the", "n_predict": 2000, "ignore_eos": True, "stream": True}
    async with session.post(f"{llama_server.url}/completion", json=body) as answer:
        await answer.content.readany()
        assert (await engine.look()).busy == 1
        async for _ in answer.content:
            pass
    (model,) = (await engine.look()).models
    assert model.tokens_per_s is not None
    assert model.tokens_per_s > 100
