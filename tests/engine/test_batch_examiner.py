import pytest

from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.domain.batch.batch import Batch
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.batch.state import BatchState
from ktms.engine.batch_examiner import EMPTY, UNREADABLE, Examiner
from ktms.ports.file_store import PIECE_BYTES, Piece
from ktms.ports.line_store import LEASE_S
from ktms.ports.secrets import DecryptFailed
from tests.contracts.shelf_stage import OWNER, Shelf, over
from tests.engine.batch_yard import text_of


class Stage:
    """One shelf with its examiner."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.memory = MemoryShelf(self.clock, MemoryStore())
        self.shelf: Shelf = over(self.memory, self.clock.advance, MemoryStore())
        self.examiner = Examiner(MemoryBatchUpkeep(self.memory), MemoryFileStore(self.memory))

    async def batch(self, content: bytes) -> BatchId:
        cuts = range(0, len(content), PIECE_BYTES)
        file = await self.shelf.file(*(content[at : at + PIECE_BYTES] for at in cuts))
        new = await self.shelf.new_batch(input_file=file)
        await self.shelf.batches.create(new)
        return new.id

    async def examined(self, content: bytes) -> Batch:
        batch = await self.batch(content)
        assert await self.examiner.one()
        assert not await self.examiner.one()
        found = await self.shelf.batches.find(batch, OWNER)
        assert found is not None
        return found


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def test_every_line_is_found_where_it_lies(stage: Stage) -> None:
    lines = [text_of(str(number)) for number in range(300)]
    found = await stage.examined(b"".join(lines)[:-1])
    assert (found.state, found.total, found.failed) == (BatchState.IN_PROGRESS, 300, 0)
    rows = stage.memory.batches[found.id].lines.values()
    content = b"".join(lines)
    assert [content[row.start : row.start + row.size_bytes] + b"\n" for row in rows] == lines


async def test_without_a_batch_there_is_nothing_to_do(stage: Stage) -> None:
    assert not await stage.examiner.one()


@pytest.mark.parametrize("content", [b"", b"\n\r\n \n"])
async def test_a_file_without_lines_is_refused(stage: Stage, content: bytes) -> None:
    found = await stage.examined(content)
    assert (found.state, found.complaints) == (BatchState.FAILED, (EMPTY,))


async def test_a_custom_id_counts_once(stage: Stage) -> None:
    found = await stage.examined(text_of("a") + text_of("b") + text_of("a"))
    assert (found.total, found.failed) == (3, 1)


async def test_a_file_that_lacks_a_piece_is_refused(stage: Stage) -> None:
    batch = await stage.batch(text_of("a") * 1000)
    name: FileId = stage.memory.batches[batch].new.input_file
    del stage.memory.files[name].pieces[1]
    assert await stage.examiner.one()
    assert stage.memory.batches[batch].complaints == (UNREADABLE,)


async def test_a_file_that_cannot_be_opened_is_refused(stage: Stage) -> None:
    class Damaged(MemoryFileStore):
        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            del first, most
            raise DecryptFailed("batch_file_piece", file)

    batch = await stage.batch(text_of("a"))
    assert await Examiner(MemoryBatchUpkeep(stage.memory), Damaged(stage.memory)).one()
    assert stage.memory.batches[batch].complaints == (UNREADABLE,)


async def test_who_has_lost_the_claim_stores_nothing_more(stage: Stage) -> None:
    class Slow(MemoryFileStore):
        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            if first == 0:
                stage.clock.advance(LEASE_S + 1)
                assert await stage.examiner.one()
            return list(await super().read(file, first, most))

    batch = await stage.batch(text_of("a"))
    assert await Examiner(MemoryBatchUpkeep(stage.memory), Slow(stage.memory)).one()
    assert (stage.memory.batches[batch].state, stage.memory.batches[batch].claim) == (BatchState.IN_PROGRESS, 2)


async def test_a_file_of_blanks_keeps_its_claim_however_long_it_takes(stage: Stage) -> None:
    class Slow(MemoryFileStore):
        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            stage.clock.advance(LEASE_S / 2)
            assert not await stage.examiner.one()  # another replica looks for work
            return list(await super().read(file, first, min(most, 1)))

    batch = await stage.batch(b"\n" * (4 * PIECE_BYTES))
    assert await Examiner(MemoryBatchUpkeep(stage.memory), Slow(stage.memory)).one()
    assert (stage.memory.batches[batch].complaints, stage.memory.batches[batch].claim) == ((EMPTY,), 1)


async def test_a_cancelled_batch_is_read_no_further(stage: Stage) -> None:
    class Counting(MemoryFileStore):
        reads = 0

        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            self.reads += 1
            await stage.shelf.batches.cancel(batch, OWNER)
            return list(await super().read(file, first, min(most, 1)))

    files = Counting(stage.memory)
    batch = await stage.batch(b"\n" * (4 * PIECE_BYTES))
    assert await Examiner(MemoryBatchUpkeep(stage.memory), files).one()
    assert files.reads == 1
