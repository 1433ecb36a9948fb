"""Random nodes, calls and replicas over one store: no slot is given twice or kept, nobody is left waiting."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.adapters.memory.upstream import NOBODY, Fail, Head, Pause, Script, Silence
from ktms.domain.catalogue import EngineKind
from ktms.domain.ids import LeaseId
from ktms.domain.placement import Placement
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.look import LOAD_S
from ktms.engine.settings import EngineSettings
from ktms.ports.lease_store import Grant, SlotWish
from tests.engine.machines import machine, machines
from tests.engine.rig import EVENTS, JSON, NODE_MODEL, Rig, listing, refusal, stream, whole
from tests.engine.virtual_loop import VirtualLoop, after
from tests.world.events import DONE, C, F, compact

LOADING: Script = (
    Head(503, JSON),
    compact({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
)
SCRIPT: st.SearchStrategy[Script] = st.sampled_from(
    [
        whole(),
        stream("x"),
        (Pause(1.5), *whole()),
        (Head(200, EVENTS), C("a"), Pause(3), F("stop"), DONE),
        (Head(200, EVENTS), C("a"), Fail(FailureKind.CLOSED)),
        (Pause(0.5), *refusal(500)),
        refusal(429),
        refusal(404),
        LOADING,
        NOBODY,
        (Silence(),),
    ]
)
PAGE = st.sampled_from(
    [listing(NODE_MODEL), listing(NODE_MODEL, busy=0, slots=2), listing(NODE_MODEL, loaded=False), NOBODY]
)
ENGINE = st.sampled_from([EngineKind.VLLM, EngineKind.LLAMACPP])
NODE = st.tuples(ENGINE, st.integers(1, 2), st.lists(SCRIPT, min_size=1, max_size=3), PAGE)
CALL = st.tuples(
    st.sampled_from(["homely", "mixed"]),
    st.booleans(),
    st.sampled_from([None, Placement.NODES_ONLY]),
    st.floats(0, 10),  # when it comes
    st.none() | st.floats(0, 20),  # when its client leaves
)
Call = tuple[str, bool, Placement | None, float, float | None]
Machine = tuple[EngineKind, int, list[Script], Script]
Trouble = tuple[float, str] | None
TROUBLE = st.none() | st.tuples(st.floats(0, 10), st.sampled_from(["away", "lost", "news"]))
PATIENCE_S = 100.0


class StrictStore(MemoryFleetStore):
    """A store that looks after itself: no more leases on a node than it has slots, whatever is asked."""

    def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        grant = super().take(wishes, lease_id)
        if grant.lease is not None:
            assert self.busy(grant.lease.node) <= grant.lease.slots
        return grant


async def run(nodes: list[Machine], calls: list[Call], trouble: Trouble) -> None:
    store = StrictStore(LoopClock())
    specs = [
        machine(f"mac-{at}", engine=engine, slots=slots) for at, (engine, slots, _, _) in enumerate(nodes, start=1)
    ]
    first = Rig(
        EngineSettings(call_total_s=60),
        machines(*specs),
        entropy=SeededEntropy("one"),
        fleet_store=store,
        slots=MemoryReplica(store, "one"),
    )
    await first.start()
    for spec, (_, _, scripts, page) in zip(specs, nodes, strict=True):
        first.says(spec.name, *scripts)
        first.shows(spec.name, page)
    first.says("alpha", whole())
    rigs = [first, await first.peer("two")]
    async with AsyncExitStack() as at_work:
        groups = [await at_work.enter_async_context(rig.at_work()) for rig in rigs]
        made = [groups[at % 2].create_task(one(rigs[at % 2], *call)) for at, call in enumerate(calls)]
        if trouble is not None:
            await befall(store, *trouble)
        await asyncio.wait(made, timeout=PATIENCE_S)
        assert all(task.done() for task in made), "somebody is left waiting"
        for spec in specs:  # whoever answers from now on is asked again within two minutes
            first.says(spec.name, whole())
            first.shows(spec.name, listing(NODE_MODEL))
        await after(LOAD_S + 200)  # whatever hangs has ended by then
        for rig in rigs:
            check(rig)
        for rig in rigs:
            await served_soon(rig)


async def befall(store: MemoryFleetStore, at_s: float, kind: str) -> None:
    """Let something happen to the store."""
    await after(at_s)
    if kind == "news":
        store.cut_news()
    elif kind == "lost":
        store.lose()
    else:
        store.away = "timeout"
        await after(5)
        store.away = None


async def one(
    rig: Rig, model: str, streamed: bool, placement: Placement | None, comes_s: float, leaves_s: float | None
) -> None:
    await after(comes_s)
    client = MemoryClient()
    try:
        async with asyncio.timeout(leaves_s):
            result: Result = await rig.handle(rig.call(model, placement=placement, stream=streamed), client)
    except TimeoutError:
        assert not client.ended
    else:
        assert isinstance(result, Whole | Failed | Streamed)
        assert client.ended is isinstance(result, Streamed)


async def served_soon(rig: Rig) -> None:
    """Check that the nodes serve again: at once, or after the load that the first call asks for."""
    for _ in range(3):
        if isinstance(await rig.handle(rig.call("homely")), Whole):
            return
        await after(15)
    raise AssertionError("no node serves any more")


def check(rig: Rig) -> None:
    """Check that nothing is left of the calls, and that no mistake of ours was hidden."""
    assert rig.machines.queues.waiting == 0
    assert [(desk.here, desk.elsewhere, dict(desk.since)) for desk in rig.machines.fleet.desks] == [(0, 0, {})] * 2
    assert [node.busy for node in rig.machines.fleet.nodes] == [0] * len(rig.machines.fleet.nodes)
    assert {node.health for node in rig.machines.fleet.status().nodes} == {"healthy"}
    assert not [event for event in rig.telemetry.events if event.name == "internal_error"]
    assert (rig.telemetry.in_flight, rig.drain.inflight) == (0, 0)


@given(st.lists(NODE, min_size=1, max_size=3), st.lists(CALL, min_size=1, max_size=8), TROUBLE)
@settings(max_examples=40, deadline=None)
def test_slots_are_neither_given_twice_nor_kept_and_everybody_gets_an_end(
    nodes: list[Machine], calls: list[Call], trouble: Trouble
) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(run(nodes, calls, trouble))
