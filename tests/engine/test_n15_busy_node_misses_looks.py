"""N15: a machine that is too busy to answer looks is alive as long as it answers calls."""

import asyncio

import pytest

from ktms.adapters.memory.upstream import Head, Pause, Script, Silence
from ktms.domain.capacity.node_health import MISSES_MAX
from ktms.domain.capacity.seat import Health
from ktms.engine.call import Streamed
from ktms.engine.look import LOOK_S
from ktms.engine.probe import PROBE_EVERY_S
from tests.engine.ends import health
from tests.engine.machines import ONE, machine, machines
from tests.engine.rig import EVENTS, NODE_MODEL, listing, replica_of, whole
from tests.engine.virtual_loop import after
from tests.world.events import DONE, C, F

SLOW: Script = (Head(200, EVENTS), *(step for _ in range(18) for step in (C("a"), Pause(10))), F("stop"), DONE)


async def test_three_minutes_of_missed_looks_do_not_take_it_down() -> None:
    rig = await replica_of(machines(machine("mac-1", slots=2)))
    rig.says("mac-1", SLOW)
    rig.shows("mac-1", (Silence(),))
    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("homely", stream=True)))
        for _ in range(17):
            await after(10)
            assert health(rig) is Health.HEALTHY
        rig.shows("mac-1", listing(NODE_MODEL))
        assert await call == Streamed()
    assert rig.telemetry.calls[0].status == 200


async def test_looks_missed_while_it_worked_do_not_count_once_it_is_idle() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", SLOW)
    rig.shows("mac-1", (Silence(),))
    async with rig.at_work() as group:
        call = group.create_task(rig.handle(rig.call("homely", stream=True)))
        await asyncio.wait([call])
        await after((MISSES_MAX - 1) * (PROBE_EVERY_S + LOOK_S) - 1)
        assert health(rig) is Health.HEALTHY


@pytest.mark.parametrize("misses", [MISSES_MAX - 1, MISSES_MAX])
async def test_an_idle_machine_needs_three_misses_in_a_row(misses: int) -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", (Silence(),))
    rig.shows("mac-1", (Silence(),))
    for _ in range(misses):
        await rig.prober.round()
        await rig.sweeper.look()
        await after(PROBE_EVERY_S)
    assert health(rig) is (Health.DOWN if misses == MISSES_MAX else Health.HEALTHY)


async def test_it_comes_back_with_a_token_after_its_looks_are_answered_again() -> None:
    rig = await replica_of(machines(machine("mac-1")))
    rig.says("mac-1", whole())
    rig.shows("mac-1", (Silence(),))
    for _ in range(MISSES_MAX):
        await rig.prober.round()
        await rig.sweeper.look()
        await after(PROBE_EVERY_S)
    assert health(rig) is Health.DOWN
    rig.shows("mac-1", listing(NODE_MODEL))
    async with rig.at_work():
        await after(2 * PROBE_EVERY_S)
    assert (health(rig), rig.dialled) == (Health.HEALTHY, ["mac-1"])
    assert rig.fleet_store.busy(ONE) == 0
