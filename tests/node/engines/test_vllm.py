"""A vLLM looked at: slots from its cache and its command line, load from all its engines."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from ktms.domain.catalogue import EngineKind
from ktms.node.engines.look import NotWarm
from ktms.node.engines.processes import Process
from ktms.node.engines.vllm import Vllm, embeds_only, slots_of
from ktms.node.state import EngineState, ModelState
from tests.node.engines.recorded_machine import RecordedMachine
from tests.node.fakes.serving import serving
from tests.node.fakes.vllm import MODEL, FakeVllm

READS = {"GET /version", "GET /v1/models", "GET /metrics"}


@pytest.fixture
async def vllm() -> AsyncIterator[FakeVllm]:
    async with serving(FakeVllm()) as engine:
        yield engine


def process(command: str) -> Process:
    return Process(7, 1, tuple(command.split()))


async def test_what_runs_is_in_memory_with_its_window(vllm: FakeVllm, session: aiohttp.ClientSession) -> None:
    vllm.gaps = (400, 10.0)
    state = await Vllm(vllm.url, session).look()
    assert state == EngineState(
        EngineKind.VLLM,
        answers=True,
        version="0.32.0",
        slots=16,
        busy=0,
        models=(ModelState(MODEL, 32_768, loaded=True, tokens_per_s=40.0),),
    )
    assert set(vllm.asked) == READS


@pytest.mark.parametrize("old_names", [False, True])
async def test_several_engines_are_summed_by_newer_and_older_names(
    session: aiohttp.ClientSession, old_names: bool
) -> None:
    async with serving(FakeVllm((3, 1), (5, 0))) as vllm:
        vllm.old_names, vllm.gaps = old_names, (100, 5.0)
        state = await Vllm(vllm.url, session).look()
    assert (state.busy, state.slots) == (9, 32)
    assert state.models[0].tokens_per_s == 20


async def test_without_metrics_load_and_slots_are_not_known(
    vllm: FakeVllm, session: aiohttp.ClientSession
) -> None:
    vllm.metrics = False
    state = await Vllm(vllm.url, session).look()
    assert (state.busy, state.slots) == (None, None)
    assert state.answers


async def test_an_adapter_has_the_window_of_its_model(vllm: FakeVllm, session: aiohttp.ClientSession) -> None:
    vllm.adapters = ["sql-adapter"]
    state = await Vllm(vllm.url, session).look()
    assert [(one.name, one.context_window) for one in state.models] == [(MODEL, 32_768), ("sql-adapter", 32_768)]


@pytest.mark.parametrize(
    ("blocks", "context", "command", "slots"),
    [
        (4096, 32_768, None, 16),
        (4096, 1024, None, 64),
        (1_000_000, None, None, 64),
        (10, 4096, None, 1),
        (4096, 32_768, "vllm serve m --max-num-seqs 8", 8),
        (4096, 32_768, "vllm serve m --max-num-seqs 256", 16),
        (1_000_000, None, "vllm serve m --max-num-seqs=256", 256),
        (1_000_000, None, "vllm serve m --max-num-seqs=4000", 1024),
        (None, None, "vllm serve m --max-num-seqs 8", 8),
        (None, 4096, "vllm serve m", None),
        (None, 4096, None, None),
    ],
)
def test_slots_are_what_was_asked_for_as_long_as_the_cache_holds_it(
    blocks: int | None, context: int | None, command: str | None, slots: int | None
) -> None:
    metrics = f'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{blocks}"}} 1.0\n'.encode()
    assert slots_of(metrics, context, None if command is None else process(command)) == slots


async def test_the_command_line_of_this_port_is_read_once(vllm: FakeVllm, session: aiohttp.ClientSession) -> None:
    machine = RecordedMachine()
    machine.runs(
        f"70 1 /v/bin/python /v/bin/vllm serve {MODEL} --port {vllm.port} --max-num-seqs 4",
        "71 1 python -m vllm.entrypoints.openai.api_server --max-num-seqs 2",
        "72 1 vim vllm",
    )
    engine = Vllm(vllm.url, session, machine)
    assert (await engine.look()).slots == 4
    await engine.look()
    assert len(machine.ran) == 1


async def test_after_it_was_away_the_command_line_is_read_again(
    vllm: FakeVllm, session: aiohttp.ClientSession
) -> None:
    machine = RecordedMachine()
    engine = Vllm(vllm.url, session, machine)
    await engine.look()
    await vllm.stop()
    assert await engine.look() == EngineState(EngineKind.VLLM)
    await vllm.start()
    assert (await engine.look()).answers
    assert len(machine.ran) == 2


async def test_an_engine_that_was_started_to_embed_offers_no_chat_model(
    vllm: FakeVllm, session: aiohttp.ClientSession
) -> None:
    machine = RecordedMachine()
    machine.runs(f"70 1 vllm serve bge --port {vllm.port} --runner pooling")
    state = await Vllm(vllm.url, session, machine).look()
    assert state.answers
    assert state.models == ()


@pytest.mark.parametrize(
    ("command", "embeds"),
    [("vllm serve m --task embed", True), ("vllm serve m --task generate", False), ("vllm serve m", False)],
)
def test_the_task_tells_what_only_embeds(command: str, embeds: bool) -> None:
    assert embeds_only(process(command)) is embeds


async def test_warming_generates_one_token_and_sets_nothing(
    vllm: FakeVllm, session: aiohttp.ClientSession
) -> None:
    await Vllm(vllm.url, session).warm(MODEL)
    assert vllm.bodies == [{"model": MODEL, "prompt": "Hi", "max_tokens": 1}]


async def test_what_cannot_be_warmed_says_so(vllm: FakeVllm, session: aiohttp.ClientSession) -> None:
    engine = Vllm(vllm.url, session)
    with pytest.raises(NotWarm, match="404"):
        await engine.warm("other")
    await vllm.stop()
    with pytest.raises(NotWarm, match="nobody listens"):
        await engine.warm(MODEL)


async def test_silence_is_no_answer(vllm: FakeVllm, session: aiohttp.ClientSession) -> None:
    vllm.silent = True
    assert await Vllm(vllm.url, session).look() == EngineState(EngineKind.VLLM)
