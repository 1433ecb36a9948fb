import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.domain.batch.batch import Batch, NewBatch, Once
from ktms.domain.batch.state import BatchState
from ktms.domain.call import Route
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.engine import batch_doubts
from ktms.engine.batch_doubts import DOUBT_S, WITHDRAW_EVERY_S
from ktms.engine.batch_shelf import ClientShelf, ComingFile, ShelfMeans
from ktms.ports.catalogue import StoreAway
from ktms.ports.telemetry import Dependency
from tests.engine.rig import KEY, Rig
from tests.engine.virtual_loop import after

ONCE = Once("night", bytes(32))


class LosingAnswers(MemoryBatchStore):
    """A store whose answer to a creation may be lost after it took place, or before."""

    loses = False
    takes_place = True

    async def create(self, batch: NewBatch) -> Batch | None:
        made = await super().create(batch) if self.takes_place else None
        if self.loses:
            raise StoreAway("the connection broke")
        return made


@dataclass
class Yard:
    """A shelf over such a store."""

    rig: Rig
    memory: MemoryShelf
    batches: LosingAnswers
    shelf: ClientShelf

    async def new(self, once: Once | None = None) -> NewBatch:
        key = await self.shelf.admit(KEY)
        stored = await self.shelf.upload(key, ComingFile("a", None, 0), content())
        batch, output, errors = self.shelf.new_names()
        return NewBatch(batch, key.id, key.tenant, stored.id, output, errors, Route.CHAT, {}, once=once)

    async def fails(self, new: NewBatch) -> None:
        """Make a batch and be told that nothing was started."""
        with pytest.raises(CallFailed) as failed:
            await self.shelf.make(new)
        assert failed.value.problem.code == ErrorCode.IDEMPOTENCY_UNAVAILABLE

    def state(self, new: NewBatch) -> BatchState:
        return self.memory.batches[new.id].state


async def content() -> AsyncIterator[bytes]:
    yield b"x"


@pytest.fixture
def made(rig: Rig) -> Yard:
    memory = MemoryShelf(rig.clock, rig.store)
    files, batches = MemoryFileStore(memory), LosingAnswers(memory)
    means = ShelfMeans(rig.admission, files, files, batches, rig.identities, rig.drain, rig.telemetry, 1000.0)
    return Yard(rig, memory, batches, ClientShelf(means))


@asynccontextmanager
async def looking(made: Yard) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(made.shelf.doubts.run())
        yield
        task.cancel()


async def test_a_batch_of_which_nobody_was_told_is_withdrawn(made: Yard) -> None:
    new = await made.new()
    async with looking(made):
        made.batches.loses = True
        await made.fails(new)
        assert made.state(new) is BatchState.VALIDATING
        await after(0.1)
        assert made.state(new) is BatchState.CANCELLING
        assert not len(made.shelf.doubts)


async def test_one_whose_client_left_is_withdrawn_too(made: Yard) -> None:
    class Slow(LosingAnswers):
        async def create(self, batch: NewBatch) -> Batch | None:
            await super().create(batch)
            raise asyncio.CancelledError

    new = await made.new()
    made.shelf = ClientShelf(replace(made.shelf._means, batches=Slow(made.memory)))
    async with looking(made):
        with pytest.raises(asyncio.CancelledError):
            await made.shelf.make(new)
        await after(0.1)
        assert made.state(new) is BatchState.CANCELLING


async def test_one_that_turns_up_late_is_withdrawn_too(made: Yard) -> None:
    new = await made.new()
    async with looking(made):
        made.batches.loses, made.batches.takes_place = True, False
        await made.fails(new)
        await after(5)
        made.rig.store.away = True
        await after(2 * DOUBT_S)
        assert (Dependency.POSTGRES, "withdraw_batch", "away") in made.rig.telemetry.failures
        made.rig.store.away = False
        await MemoryBatchStore(made.memory).create(new)
        await after(WITHDRAW_EVERY_S)
        assert made.state(new) is BatchState.CANCELLING


async def test_one_that_was_never_stored_is_looked_for_for_a_while(made: Yard) -> None:
    new = await made.new()
    async with looking(made):
        made.batches.loses, made.batches.takes_place = True, False
        await made.fails(new)
        await after(DOUBT_S - 2)
        assert len(made.shelf.doubts) == 1
        await after(2 + WITHDRAW_EVERY_S)
        assert not len(made.shelf.doubts)


async def test_one_that_its_client_can_find_stays(made: Yard) -> None:
    new, again = await made.new(ONCE), await made.new(ONCE)
    async with looking(made):
        made.batches.loses = True
        await made.fails(new)
        await after(5)
        made.batches.loses = False
        found = await made.shelf.make(again)
        assert (found.id, found.state) == (new.id, BatchState.VALIDATING)


async def test_no_more_are_looked_for_than_may_be(made: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_doubts, "IN_DOUBT_MAX", 2)
    news = [await made.new() for _ in range(3)]
    made.batches.loses = True
    for new in news:
        await made.fails(new)
    async with looking(made):
        await after(0.1)
        assert [made.state(new) for new in news] == [BatchState.VALIDATING] + [BatchState.CANCELLING] * 2
