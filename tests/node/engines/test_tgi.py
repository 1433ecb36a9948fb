"""A TGI looked at: its promise of slots is cut to the batches it makes."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from ktms.domain.capacity.engine_metrics import EngineLoad
from ktms.domain.catalogue import EngineKind
from ktms.node.engines.look import NotWarm
from ktms.node.engines.tgi import Batches, Tgi
from ktms.node.state import EngineState, ModelState
from tests.node.fakes.serving import serving
from tests.node.fakes.tgi import MODEL, FakeTgi


@pytest.fixture
async def tgi() -> AsyncIterator[FakeTgi]:
    async with serving(FakeTgi()) as engine:
        yield engine


async def test_what_runs_is_in_memory_with_its_window(tgi: FakeTgi, session: aiohttp.ClientSession) -> None:
    tgi.running, tgi.waiting, tgi.per_token = 3, 0, (20, 0.5)
    assert await Tgi(tgi.url, session).look() == EngineState(
        EngineKind.TGI,
        answers=True,
        version="3.3.6",
        slots=16,
        busy=3,
        models=(ModelState(MODEL, 8192, loaded=True, tokens_per_s=40.0),),
    )


async def test_shards_that_do_not_answer_serve_nothing(tgi: FakeTgi, session: aiohttp.ClientSession) -> None:
    tgi.healthy = False
    state = await Tgi(tgi.url, session).look()
    assert state.answers
    assert state.models[0].loaded is False


@pytest.mark.parametrize(
    ("loads", "promised", "slots"),
    [
        ([], 128, 16),
        ([], 4, 4),
        ([], None, None),
        ([(30, 0)], 128, 30),
        ([(6, 2)], 128, 6),
        ([(6, 2), (9, 1), (3, 0)], 128, 9),
    ],
)
def test_slots_are_the_batches_that_it_makes(
    loads: list[tuple[int, int]], promised: int | None, slots: int | None
) -> None:
    batches = Batches()
    for running, waiting in loads:
        batches.hear(EngineLoad(running, waiting))
    assert batches.slots(promised) == slots


async def test_warming_generates_one_token(tgi: FakeTgi, session: aiohttp.ClientSession) -> None:
    await Tgi(tgi.url, session).warm(MODEL)
    assert tgi.bodies == [{"inputs": "Hi", "parameters": {"max_new_tokens": 1}}]


async def test_what_cannot_be_warmed_says_so(tgi: FakeTgi, session: aiohttp.ClientSession) -> None:
    engine = Tgi(tgi.url, session)
    tgi.healthy = False
    with pytest.raises(NotWarm, match="429"):
        await engine.warm(MODEL)
    await tgi.stop()
    with pytest.raises(NotWarm, match="nobody listens"):
        await engine.warm(MODEL)


async def test_nobody_and_silence_are_no_answer(tgi: FakeTgi, session: aiohttp.ClientSession) -> None:
    tgi.silent = True
    assert await Tgi(tgi.url, session).look() == EngineState(EngineKind.TGI)
    await tgi.stop()
    assert await Tgi(tgi.url, session).look() == EngineState(EngineKind.TGI)
