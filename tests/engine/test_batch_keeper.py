from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.domain.batch.state import BatchState
from ktms.engine.batch_keeper import FORGET_EVERY_S, TEND_EVERY_S, BatchKeeper
from ktms.ports.telemetry import Dependency, Gauge
from tests.engine.batch_yard import DAY_S, text_of, yard
from tests.engine.rig import whole
from tests.engine.virtual_loop import after

MONTH_S = 31 * DAY_S


def test_the_keeper_is_what_the_yard_runs() -> None:
    assert BatchKeeper.__module__ == "ktms.engine.batch_keeper"


async def test_another_replicas_batch_is_noticed_soon() -> None:
    async with yard() as made:
        made.rig.says("alpha", whole())
        await after(1)
        batch = await made.batch(text_of("a"))
        await after(TEND_EVERY_S + 0.1)
        assert (await made.found(batch)).state is not BatchState.VALIDATING


async def test_waiting_lines_are_shown() -> None:
    async with yard(starts=False) as made:
        await made.batch(text_of("a"), text_of("b"))
        await made.replica.keeper.tend()
        made.add(made.rig)
        assert (Gauge.BATCH_LINES_WAITING, "") not in made.rig.telemetry.gauges
        await after(0.1)
        assert made.rig.telemetry.gauges[Gauge.BATCH_LINES_WAITING, ""] in {0, 2}


async def test_what_is_old_is_forgotten() -> None:
    async with yard(starts=False) as made:
        made.rig.says("alpha", whole())
        await made.batch(text_of("a"))
        await after(MONTH_S)
        await made.replica.keeper.tend()
        await made.replica.keeper.forget()
        assert (made.shelf.files, made.shelf.batches) == ({}, {})


async def test_one_replica_forgets_for_all() -> None:
    async with yard(starts=False) as made:
        other = MemoryReplica(made.rig.fleet_store, "other")
        assert await other.claim("forget_batches", 3 * FORGET_EVERY_S)
        await made.batch(text_of("a"))
        await after(FORGET_EVERY_S)
        await made.replica.keeper.forget()
        assert made.shelf.files


async def test_a_store_that_is_away_is_told_and_asked_again() -> None:
    async with yard() as made:
        made.rig.says("alpha", whole())
        batch = await made.batch(text_of("a"))
        made.rig.store.away = True
        await after(2 * TEND_EVERY_S)
        told = {(dependency, operation) for dependency, operation, _ in made.rig.telemetry.failures}
        assert {(Dependency.POSTGRES, "examine_batch"), (Dependency.POSTGRES, "move_batches")} <= told
        made.rig.store.away = False
        assert (await made.ended(batch)).completed == 1


async def test_a_replica_that_leaves_examines_nothing_any_more() -> None:
    async with yard(starts=False) as made:
        batch = await made.batch(text_of("a"))
        made.rig.drain.leave()
        await made.replica.keeper.tend()
        assert (await made.found(batch)).state is BatchState.VALIDATING


async def test_without_the_board_nothing_is_forgotten_and_it_is_told() -> None:
    async with yard(starts=False) as made:
        made.rig.fleet_store.away = "away"
        await made.replica.keeper.forget()
        assert made.rig.telemetry.failures == [(Dependency.REDIS, "forget_batches", "away")]
