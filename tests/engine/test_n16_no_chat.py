"""N16: a machine that serves embeddings alone refuses a chat with 400 and is as alive as any."""

from collections.abc import Iterator

import pytest

from ktms.adapters.memory.upstream import Head, MemoryUpstream, Script
from ktms.domain.call import Route
from ktms.domain.capacity.node_health import FAILURES_MAX, Evidence
from ktms.domain.capacity.seat import Health
from ktms.domain.ids import NodeName
from ktms.engine.call import Whole
from ktms.engine.probe import PROBE_EVERY_S
from ktms.ports.upstream import UpstreamRequest
from tests.engine.ends import health
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import JSON, NODE_MODEL, Rig, listing, refusal, replica_of
from tests.engine.virtual_loop import after
from tests.world.events import embedding_answer


@pytest.fixture
async def rig() -> Rig:
    made = await replica_of(machines(machine("mac-1")))
    made.upstream._script_for = answers
    assert isinstance(made.upstream, MemoryUpstream)
    return made


def answers(request: UpstreamRequest) -> Script:
    if request.prologue.method == "GET":
        return listing(NODE_MODEL)
    if request.prologue.path.endswith(Route.EMBEDDINGS.value):
        return (Head(200, JSON), embedding_answer([[0.5]]))
    return refusal(400, "this model does not support chat completion")


def posts(rig: Rig) -> Iterator[str]:
    """Give the paths that were asked, looks aside."""
    return (one.request.prologue.path for one in rig.upstream.exchanges if one.request.prologue.method == "POST")


async def test_looks_make_it_neither_suspect_nor_ask_it_for_anything(rig: Rig) -> None:
    async with rig.at_work():
        await after(20 * PROBE_EVERY_S)
        assert health(rig) is Health.HEALTHY
    assert list(posts(rig)) == []


async def test_chats_that_it_refuses_make_it_no_worse(rig: Rig) -> None:
    async with rig.at_work():
        for _ in range(2 * FAILURES_MAX):
            await rig.handle(rig.call("homely"))
        assert health(rig) is Health.HEALTHY
        assert isinstance(await rig.handle(rig.call("homely", route=Route.EMBEDDINGS)), Whole)


@pytest.mark.parametrize("failures", [1, FAILURES_MAX])
async def test_it_comes_back_by_a_text_that_it_embeds(rig: Rig, failures: int) -> None:
    for _ in range(failures):
        rig.machines.fleet.note(ONE, Evidence.CONNECT_FAILED)
    async with rig.at_work():
        await after(3 * PROBE_EVERY_S)
        assert health(rig, NodeName("mac-1")) is Health.HEALTHY
    assert list(posts(rig)) == ["/v1/chat/completions", "/v1/embeddings"]
