"""N05: what is found out about a node's health never touches how many of its slots are taken."""

import asyncio

import pytest

from ktms.adapters.memory.upstream import NOBODY, Head, Script, Wait
from ktms.domain.capacity.node_health import Evidence
from ktms.engine.probe import PROBE_EVERY_S
from tests.engine.ends import story
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import EVENTS, NODE_MODEL, Rig, listing, refusal, replica_of, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE, C, F

STREAMS = 4
LOOKS: dict[str, Script] = {
    "answered": listing(NODE_MODEL),
    "idle, it says": listing(NODE_MODEL, busy=0, slots=STREAMS),
    "missed": NOBODY,
    "404": refusal(404),
}


async def rig_at_work(rig: Rig, group: asyncio.TaskGroup, gate: asyncio.Event) -> None:
    """Let as many streams run as the node has slots, until the gate opens."""
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Wait(gate), F("stop"), DONE))
    for _ in range(STREAMS):
        group.create_task(rig.handle(rig.call("homely", stream=True)))
    await settle()


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
async def test_looks_at_a_node_free_none_of_its_slots(look: Script) -> None:
    rig = await replica_of(machines(machine("mac-1", slots=STREAMS)))
    gate = asyncio.Event()
    rig.shows("mac-1", look)
    rig.says("alpha", whole())
    async with rig.at_work() as group:
        await rig_at_work(rig, group, gate)
        await after(5 * PROBE_EVERY_S)
        state = rig.machines.fleet.state(ONE)
        assert state is not None
        assert (state.busy, rig.fleet_store.busy(ONE)) == (STREAMS, STREAMS)
        assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:busy, alpha:ok"
        gate.set()


@pytest.mark.parametrize("evidence", [one for one in Evidence if one is not Evidence.LOADING])
async def test_no_evidence_of_any_kind_frees_a_slot(evidence: Evidence) -> None:
    rig = await replica_of(machines(machine("mac-1", slots=STREAMS)))
    gate = asyncio.Event()
    async with rig.at_work() as group:
        await rig_at_work(rig, group, gate)
        for _ in range(5):
            rig.machines.fleet.note(ONE, evidence)
        state = rig.machines.fleet.state(ONE)
        assert state is not None
        assert (state.busy, state.slots) == (STREAMS, STREAMS)
        gate.set()
