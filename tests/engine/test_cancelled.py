"""A client may leave at any moment: a call is cancelled at each of its suspension points in turn, by each road.

Whatever the moment, nothing is kept: no lease, no place in a queue, no exchange, no trial of a breaker, no call;
and each target that was asked has its usage event, the call its record.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.upstream import Fail, Head, Pause, Script
from ktms.domain.routing.breaker import FAILURES_MAX, OPEN_S
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.settings import EngineSettings
from tests.engine.doubles import YieldingKeys, YieldingLeases
from tests.engine.rig import CATALOGUE, EVENTS, JSON, Rig, refusal, stream, whole
from tests.engine.stepped import Stepped
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE, C, F, chat_answer, role

SLOW_STREAM: Script = (
    Pause(0.1),
    Head(200, EVENTS),
    role(),
    Pause(0.1),
    C("a"),
    Pause(0.1),
    C("b" * 1000),
    Pause(16),
    F("stop"),
    DONE,
)
SLOW_ANSWER: Script = (Pause(0.1), Head(200, JSON), Pause(0.1), chat_answer("hello"), Pause(0.1))
SLOW_REFUSAL: Script = (Pause(0.1), Head(503, JSON), Pause(0.1), b"{}")


@dataclass(frozen=True)
class Road:
    """A call, and what its targets say."""

    model: str
    scripts: Mapping[str, Script]
    streamed: bool = False
    room_bytes: int = 65_536
    on_trial: str | None = None


ROADS = {
    "whole, first vendor": Road("cloudy", {"alpha": SLOW_ANSWER}),
    "whole, second vendor": Road("cloudy", {"alpha": SLOW_REFUSAL, "beta": SLOW_ANSWER}),
    "stream": Road("cloudy", {"alpha": SLOW_STREAM}, streamed=True),
    "stream, slow client": Road("cloudy", {"alpha": SLOW_STREAM}, streamed=True, room_bytes=10),
    "stream, after a broken one": Road(
        "cloudy",
        {"alpha": (Head(200, EVENTS), role(), Pause(0.1), Fail(FailureKind.CLOSED)), "beta": SLOW_STREAM},
        streamed=True,
    ),
    "node": Road("homely", {"mac-1": SLOW_ANSWER}),
    "nodes, then the cloud": Road(
        "mixed", {"mac-1": SLOW_REFUSAL, "mac-2": (Pause(0.1), Fail(FailureKind.REFUSED)), "alpha": SLOW_ANSWER}
    ),
    "node, streamed": Road("homely", {"mac-1": SLOW_STREAM}, streamed=True),
    "trial of a vendor": Road("cloudy", {"alpha": SLOW_ANSWER}, on_trial="alpha"),
}


async def prepared(road: Road) -> Rig:
    store, slots = MemoryStore(), MemoryLeaseStore()
    rig = Rig(
        EngineSettings(),
        CATALOGUE,
        store=store,
        slots=slots,
        keys=YieldingKeys(store),
        leases=YieldingLeases(slots),
    )
    await rig.start()
    if road.on_trial is not None:
        rig.says(road.on_trial, refusal(500))
        rig.says("beta", whole())
        for _ in range(FAILURES_MAX):
            await rig.handle(rig.call(road.model))
        await after(OPEN_S)
    for name, script in road.scripts.items():
        rig.says(name, script)
    return rig


async def travel(rig: Rig, road: Road, *, cancel_at: int | None) -> int:
    """Make the call, cancelled at one suspension point; give how many there were."""
    client = MemoryClient(room_bytes=road.room_bytes)
    if road.room_bytes < 100:
        client.stop_reading()
    call = rig.call(road.model, stream=road.streamed)
    work = Stepped(rig.handle(call, client), cancel_at=cancel_at)

    async def alone() -> None:
        await work

    async with asyncio.TaskGroup() as group:
        task = group.create_task(alone())
        await settle()
        for _ in range(10):
            client.read_on()
            await settle()
    assert task.cancelled() == (cancel_at is not None)
    return work.suspensions


@pytest.mark.parametrize("name", ROADS)
async def test_nothing_is_kept_wherever_a_call_is_cancelled(name: str) -> None:
    road = ROADS[name]
    rig = await prepared(road)
    before = len(rig.telemetry.calls)
    suspensions = await travel(rig, road, cancel_at=None)
    assert suspensions >= 3
    rig.assert_at_rest(calls=before + 1)
    for cancel_at in range(1, suspensions + 1):
        rig = await prepared(road)
        await travel(rig, road, cancel_at=cancel_at)
        rig.assert_at_rest(calls=before + 1)
        assert rig.telemetry.calls[-1].cancelled
        assert rig.telemetry.calls[-1].status == 499
        await answers(rig)


async def answers(rig: Rig) -> None:
    """Check that no breaker was left on trial and no slot in use: everything may be asked again."""
    for name in ("mac-1", "mac-2", "alpha", "beta"):
        rig.says(name, whole())
    asked = len(rig.dialled)
    await rig.handle(rig.call("cloudy"))
    await rig.handle(rig.call("homely"))
    await rig.sweeper.look()
    assert [node.busy for node in rig.machines.fleet.nodes] == [0, 0]
    assert [(desk.here, desk.since) for desk in rig.machines.fleet.desks if desk.here or desk.since] == []
    assert rig.dialled[asked:] in (["alpha", "mac-1"], ["alpha", "mac-2"])


@pytest.mark.parametrize("name", ["stream", "nodes, then the cloud"])
async def test_a_drain_that_cuts_at_any_moment_tells_the_client(name: str) -> None:
    road = ROADS[name]
    suspensions = await travel(await prepared(road), road, cancel_at=None)
    for cut_at in range(1, suspensions + 1):
        rig = await prepared(road)
        rig.drain.cutting = True
        client = MemoryClient()
        call = rig.call(road.model, stream=road.streamed)
        result = await Stepped(rig.handle(call, client), cancel_at=cut_at)
        assert client.headers is None or client.ended
        assert getattr(result, "problem", None) is not None
        rig.assert_at_rest(calls=1)


async def test_a_stream_that_ends_well_is_not_disturbed_by_stepping() -> None:
    rig = await prepared(Road("cloudy", {"alpha": stream("a")}))
    client = MemoryClient()
    await Stepped(rig.handle(rig.call(stream=True), client))
    assert client.body.endswith(DONE)
