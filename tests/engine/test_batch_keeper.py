import asyncio
from collections.abc import Callable

from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.domain.batch.names import FileId
from ktms.domain.batch.state import BatchState
from ktms.engine.batch_keeper import FORGET_EVERY_S, TEND_EVERY_S, BatchKeeper
from ktms.ports.file_store import Piece
from ktms.ports.telemetry import Dependency, Gauge
from tests.engine.batch_yard import DAY_S, Yard, text_of, yard
from tests.engine.rig import whole
from tests.engine.virtual_loop import after

MONTH_S = 31 * DAY_S


async def test_another_replicas_batch_is_noticed_soon() -> None:
    async with yard() as made:
        made.rig.says("alpha", whole())
        await after(1)
        batch = await made.batch(text_of("a"))
        await after(TEND_EVERY_S + 0.1)
        assert (await made.found(batch)).state is not BatchState.VALIDATING


class Endless(MemoryFileStore):
    """Files that are never read to their end."""

    reading = False

    async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
        self.reading = True
        await asyncio.Event().wait()
        raise AssertionError(file, first, most)


def keeper_of(
    made: Yard, files: MemoryFileStore | None = None, wake: Callable[[], None] = lambda: None
) -> BatchKeeper:
    rig = made.rig
    return BatchKeeper(
        MemoryBatchUpkeep(made.shelf),
        files or MemoryFileStore(made.shelf),
        rig.slots,
        drain=rig.drain,
        entropy=rig.entropy,
        telemetry=rig.telemetry,
        woken=asyncio.Event(),
        wake=wake,
    )


def run(made: Yard, keeper: BatchKeeper) -> None:
    """Run it until the yard ends."""
    made.replica.tasks.append(made.group.create_task(keeper.run()))


async def test_batches_move_on_while_a_long_file_is_examined() -> None:
    async with yard(starts=False) as made:
        batch = await made.batch(text_of("a"))
        await made.replica.keeper.tend()
        await made.batch(text_of("b"))
        files = Endless(made.shelf)
        run(made, keeper_of(made, files))
        await after(TEND_EVERY_S + 0.1)
        assert files.reading
        await made.cancel(batch)
        await after(TEND_EVERY_S + 0.1)
        assert (await made.found(batch)).state is BatchState.CANCELLED


async def test_the_worker_is_woken_for_what_was_examined_and_for_what_moves_on() -> None:
    wakes: list[None] = []
    async with yard(starts=False) as made:
        keeper = keeper_of(made, wake=lambda: wakes.append(None))
        batch = await made.batch(text_of("a"))
        await keeper.tend()
        assert len(wakes) == 1
        await made.cancel(batch)
        await keeper.tend()
        assert len(wakes) == 2
        (told,) = made.rig.telemetry.events
        assert (told.name, told.facts) == ("batch_moved", {"batch": batch, "state": "cancelled"})


async def test_waiting_lines_are_shown() -> None:
    async with yard(starts=False) as made:
        await made.batch(text_of("a"), text_of("b"))
        await made.replica.keeper.tend()
        run(made, keeper_of(made))
        assert (Gauge.BATCH_LINES_WAITING, "") not in made.rig.telemetry.gauges
        await after(0.1)
        assert made.rig.telemetry.gauges[Gauge.BATCH_LINES_WAITING, ""] == 2


async def test_what_is_old_is_forgotten() -> None:
    async with yard(starts=False) as made:
        made.rig.says("alpha", whole())
        await made.batch(text_of("a"))
        await after(MONTH_S)
        await made.replica.keeper.tend()
        await made.replica.keeper.forget()
        assert (made.shelf.files, made.shelf.batches) == ({}, {})


async def test_what_is_old_is_forgotten_while_a_keeper_runs() -> None:
    async with yard(starts=False) as made:
        await made.batch(text_of("a"))
        await after(MONTH_S)
        run(made, keeper_of(made))
        await after(FORGET_EVERY_S + 1)
        assert (made.shelf.files, made.shelf.batches) == ({}, {})


async def test_one_replica_forgets_for_all() -> None:
    async with yard(starts=False) as made:
        other = MemoryReplica(made.rig.fleet_store, "other")
        await made.batch(text_of("a"))
        await after(MONTH_S)
        await made.replica.keeper.tend()
        assert await other.claim("forget_batches", 2 * FORGET_EVERY_S)
        await made.replica.keeper.forget()
        assert made.shelf.files
        await after(2 * FORGET_EVERY_S)
        await made.replica.keeper.forget()
        assert not made.shelf.files


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
