import asyncio
from collections.abc import AsyncIterator

import pytest

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.domain.access.client_key import ClientKey
from ktms.domain.batch.names import FileId
from ktms.domain.errors import CallFailed, ErrorCode
from ktms.engine.batch_shelf import ClientShelf, ShelfMeans
from ktms.ports.file_store import PIECE_BYTES, PIECES_AT_ONCE, Piece
from ktms.ports.secrets import DecryptFailed
from tests.engine.rig import KEY, Rig

KEEP_S = 1000.0


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
    stored = await shelves.shelf.upload(await shelves.key(), "a", None, parts(*cuts))
    pieces = shelves.memory.files[stored.id].pieces
    assert b"".join(pieces[number] for number in range(len(pieces))) == content
    assert {len(piece) for piece in list(pieces.values())[:-1]} == {PIECE_BYTES}


async def test_a_file_is_kept_no_longer_than_the_operator_says(shelves: Shelves) -> None:
    key = await shelves.key()
    for asked, kept in ((None, KEEP_S), (10.0, 10.0), (5000.0, KEEP_S)):
        stored = await shelves.shelf.upload(key, "a", asked, parts(b"x"))
        assert stored.expires_at - stored.created_at == pytest.approx(kept)


async def test_an_upload_that_breaks_off_leaves_nothing(shelves: Shelves) -> None:
    with pytest.raises(ConnectionError):
        await shelves.shelf.upload(await shelves.key(), "a", None, broken(b"x" * PIECE_BYTES * 40))
    assert shelves.memory.files == {}


async def test_a_removal_that_fails_is_told_and_the_cause_is_kept(shelves: Shelves) -> None:
    class Stuck(MemoryFileStore):
        async def delete(self, file: FileId, owner: object = None) -> bool:
            del file, owner
            await asyncio.get_running_loop().create_future()
            return True

    shelf = shelves.over(Stuck(shelves.memory))
    with pytest.raises(ConnectionError):
        await shelf.upload(await shelves.key(), "a", None, broken(b"x"))
    assert [operation for _, operation, _ in shelves.rig.telemetry.failures] == ["remove_upload"]


async def test_content_that_cannot_be_opened_is_our_fault(shelves: Shelves) -> None:
    class Damaged(MemoryFileStore):
        async def read(self, file: FileId, first: int, most: int) -> list[Piece]:
            del first, most
            raise DecryptFailed("batch_file_piece", file)

    key = await shelves.key()
    stored = await shelves.shelf.upload(key, "a", None, parts(b"x"))
    assert await code_of(shelves.over(Damaged(shelves.memory)).content(key, stored.id)) == ErrorCode.INTERNAL_ERROR
    assert shelves.rig.telemetry.events[-1].name == "file_unreadable"


async def test_names_that_cannot_be_are_not_found(shelves: Shelves) -> None:
    key, shelf = await shelves.key(), shelves.shelf
    for ask in (shelf.file(key, None), shelf.delete(key, None), shelf.batch(key, None), shelf.cancel(key, None)):
        assert await code_of(ask) == ErrorCode.NOT_FOUND


async def test_a_replica_that_leaves_begins_nothing(shelves: Shelves) -> None:
    shelves.rig.drain.close()
    assert await code_of(shelves.key()) == ErrorCode.DRAINING
