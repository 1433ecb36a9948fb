"""N23: an engine may generate on for a client that has left; its slot is not free before it is idle."""

import asyncio

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import NOBODY, Head, Pause, Script, Silence
from ktms.domain.catalogue import EngineKind
from ktms.engine.node_walk import LEAVERS_GRACE_S
from tests.engine.ends import story
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import EVENTS, JSON, NODE_MODEL, Rig, listing, refusal, replica_of, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import C

STOPS = (EngineKind.VLLM, EngineKind.OLLAMA, EngineKind.AGENT)
WORKS_ON = (EngineKind.LLAMACPP, EngineKind.TGI)


async def leave(rig: Rig, *, stream_begun: bool = False) -> None:
    """Make a call whose client leaves."""
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call("homely", stream=stream_begun)))
        await settle()
        call.cancel()


@pytest.mark.parametrize("engine", [*STOPS, *WORKS_ON], ids=str)
async def test_n23_the_slot_of_a_client_that_left_drains_where_the_engine_works_on(engine: EngineKind) -> None:
    rig = await replica_of(machines(machine("mac-1", engine=engine)))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Silence()))
    await leave(rig, stream_begun=True)
    works_on = engine in WORKS_ON
    assert rig.fleet_store.busy(ONE) == int(works_on)
    state = rig.machines.fleet.state(ONE)
    assert state is not None
    assert state.busy == int(works_on)
    await after(LEAVERS_GRACE_S + 0.1)
    assert rig.fleet_store.busy(ONE) == 0


@pytest.mark.parametrize("script", [(Silence(),), (Head(200, JSON), Silence())])
async def test_n23_a_slot_drains_after_our_own_timers_too(script: Script) -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    rig.says("mac-1", script)
    await rig.handle(rig.call("homely"))
    assert rig.fleet_store.busy(ONE) == 1


@pytest.mark.parametrize("script", [whole(), refusal(500), refusal(429), NOBODY])
async def test_an_answer_that_came_to_its_end_drains_nothing(script: Script) -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    rig.says("mac-1", script)
    await rig.handle(rig.call("homely"))
    assert rig.fleet_store.busy(ONE) == 0


async def test_n23_the_next_call_does_not_wait_behind_a_ghost() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Silence()), whole())
    rig.says("alpha", whole())
    await leave(rig, stream_begun=True)
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:busy, alpha:ok"
    rig.shows("mac-1", listing(NODE_MODEL, busy=0, slots=1))
    await after(0.1)
    await rig.prober.round()
    await rig.sweeper.look()
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:ok"


async def test_n23_a_look_that_began_before_a_client_left_frees_nothing() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP), machine("mac-2")))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Silence()))
    rig.shows("mac-1", listing(NODE_MODEL, busy=0, slots=1))
    rig.shows("mac-2", (Pause(1), *listing(NODE_MODEL)))  # the whole round takes as long
    await after(0.1)
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.prober.round())
        await settle()
        await leave(rig, stream_begun=True)
        assert rig.fleet_store.busy(ONE) == 1
    assert rig.fleet_store.busy(ONE) == 1
    await after(0.1)
    await rig.prober.round()
    assert rig.fleet_store.busy(ONE) == 0


async def test_n23_the_slot_of_a_client_that_stalled_drains_too() -> None:
    rig = await replica_of(machines(machine("mac-1", engine=EngineKind.LLAMACPP)))
    rig.says("mac-1", (Head(200, EVENTS), *[C("x" * 100)] * 50, Silence()))
    client = MemoryClient(room_bytes=500)
    client.stop_reading()
    await rig.handle(rig.call("homely", stream=True), client)
    assert client.dropped
    assert rig.fleet_store.busy(ONE) == 1
