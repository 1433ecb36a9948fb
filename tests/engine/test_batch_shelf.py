import asyncio
from collections.abc import AsyncIterator

import pytest

from ktms.adapters.memory import batch_store
from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.domain.access.client_key import ClientKey
from ktms.domain.batch.batch import FILES_MAX_BYTES, NewBatch
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.call import Route
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.domain.ids import KeyId, TenantName
from ktms.engine.batch_shelf import ClientShelf, ComingFile, ShelfMeans
from ktms.ports.file_store import PIECE_BYTES, PIECES_AT_ONCE, Piece
from ktms.ports.secrets import DecryptFailed
from ktms.ports.telemetry import Dependency
from tests.engine.rig import KEY, Rig

KEEP_S = 1000.0


def coming(keep_s: float | None = None, size_max: int = 0) -> ComingFile:
    return ComingFile("a", keep_s, size_max)


class Shelves:
    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.memory = MemoryShelf(rig.clock, rig.store)
        self.files = MemoryFileStore(self.memory)
        self.shelf = self.over(self.files)

    def over(self, files: MemoryFileStore) -> ClientShelf:
        rig = self.rig
        batches = MemoryBatchStore(self.memory)
        means = (rig.admission, files, files, batches, rig.identities, rig.drain, rig.telemetry, KEEP_S)
        return ClientShelf(ShelfMeans(*means))

    async def key(self) -> ClientKey:
        return await self.shelf.admit(KEY)


@pytest.fixture
def shelves(rig: Rig) -> Shelves:
    return Shelves(rig)


async def parts(*content: bytes) -> AsyncIterator[bytes]:
    for part in content:
        yield part


async def broken(*content: bytes) -> AsyncIterator[bytes]:
    for part in content:
        yield part
    raise ConnectionError


async def code_of(ask: object) -> str:
    with pytest.raises(CallFailed) as failed:
        await ask  # type: ignore[misc]  # awaitable
    return failed.value.problem.code


async def test_content_in_any_parts_becomes_even_pieces(shelves: Shelves) -> None:
    content = bytes(range(256)) * (PIECE_BYTES * (PIECES_AT_ONCE + 2) // 256) + b"end"
    cuts = [content[at : at + 70_001] for at in range(0, len(content), 70_001)]
    stored = await shelves.shelf.upload(await shelves.key(), coming(), parts(*cuts))
    pieces = shelves.memory.files[stored.id].pieces
    assert b"".join(pieces[number] for number in range(len(pieces))) == content
    assert {len(piece) for piece in list(pieces.values())[:-1]} == {PIECE_BYTES}


async def test_a_file_is_kept_no_longer_than_the_operator_says(shelves: Shelves) -> None:
    key = await shelves.key()
    for asked, kept in ((None, KEEP_S), (10.0, 10.0), (5000.0, KEEP_S)):
        stored = await shelves.shelf.upload(key, coming(asked), parts(b"x"))
        assert stored.expires_at - stored.created_at == pytest.approx(kept)


async def test_an_upload_that_breaks_off_leaves_nothing(shelves: Shelves) -> None:
    with pytest.raises(ConnectionError):
        await shelves.shelf.upload(await shelves.key(), coming(), broken(b"x" * PIECE_BYTES * 40))
    assert shelves.memory.files == {}


async def test_a_key_whose_files_are_full_is_told(shelves: Shelves) -> None:
    key, shelf = await shelves.key(), shelves.shelf
    assert (
        await code_of(shelf.upload(key, coming(size_max=FILES_MAX_BYTES + 1), parts()))
        == ErrorCode.REQUEST_TOO_LARGE
    )
    assert shelves.memory.files == {}


async def test_a_key_with_too_many_batches_is_told_to_come_back(
    shelves: Shelves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_store, "BATCHES_OPEN_MAX", 0)
    key, shelf = await shelves.key(), shelves.shelf
    stored = await shelf.upload(key, coming(), parts(b"x"))
    new = NewBatch(*new_names(shelf, key, stored.id), Route.CHAT, {})
    with pytest.raises(CallFailed) as failed:
        await shelf.make(new)
    assert (failed.value.problem.code, failed.value.problem.retry_after_s) == (ErrorCode.RATE_LIMIT_EXCEEDED, 60)


def new_names(
    shelf: ClientShelf, key: ClientKey, given: FileId
) -> tuple[BatchId, KeyId, TenantName, FileId, FileId, FileId]:
    batch, output, errors = shelf.new_names()
    return batch, key.id, key.tenant, given, output, errors


async def test_a_removal_that_fails_is_told_and_the_cause_is_kept(shelves: Shelves) -> None:
    class Stuck(MemoryFileStore):
        async def delete(self, file: FileId, owner: object = None) -> bool:
            del file, owner
            await asyncio.get_running_loop().create_future()
            return True

    shelf = shelves.over(Stuck(shelves.memory))
    with pytest.raises(ConnectionError):
        await shelf.upload(await shelves.key(), coming(), broken(b"x"))
    assert [operation for _, operation, _ in shelves.rig.telemetry.failures] == ["remove_upload"]


async def test_content_that_cannot_be_opened_is_our_fault(shelves: Shelves) -> None:
    class Damaged(MemoryFileStore):
        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            del first, most
            raise DecryptFailed("batch_file_piece", file)

    key = await shelves.key()
    stored = await shelves.shelf.upload(key, coming(), parts(b"x"))
    assert await code_of(shelves.over(Damaged(shelves.memory)).content(key, stored.id)) == ErrorCode.INTERNAL_ERROR
    assert shelves.rig.telemetry.events[-1].name == "file_unreadable"


async def test_names_that_cannot_be_are_not_found(shelves: Shelves) -> None:
    key, shelf = await shelves.key(), shelves.shelf
    for ask in (shelf.file(key, None), shelf.delete(key, None), shelf.batch(key, None), shelf.cancel(key, None)):
        assert await code_of(ask) == ErrorCode.NOT_FOUND


async def test_a_replica_that_leaves_begins_nothing(shelves: Shelves) -> None:
    shelves.rig.drain.close()
    assert await code_of(shelves.key()) == ErrorCode.DRAINING


async def test_a_batch_that_is_made_or_cancelled_is_tended_at_once(shelves: Shelves) -> None:
    key, shelf = await shelves.key(), shelves.shelf
    stored = await shelf.upload(key, coming(), parts(b"x"))
    new = NewBatch(*new_names(shelf, key, stored.id), Route.CHAT, {})
    for change in (shelf.make(new), shelf.cancel(key, new.id)):
        shelf.stirred.clear()
        await change
        assert shelf.stirred.is_set()


async def test_a_database_that_is_away_is_told_by_what_was_asked_of_it(shelves: Shelves) -> None:
    key = await shelves.key()
    shelves.rig.store.away = True
    assert await code_of(shelves.shelf.batch_list(key, 1, None)) == ErrorCode.STORE_UNAVAILABLE
    assert shelves.rig.telemetry.failures == [(Dependency.POSTGRES, "list_batches", "away")]
