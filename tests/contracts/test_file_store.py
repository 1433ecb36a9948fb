import asyncio

import pytest

from ktms.domain.batch.batch import NewFile
from ktms.domain.batch.names import FileId, file_id
from ktms.domain.ids import KeyId
from ktms.ports.catalogue import StoreAway
from ktms.ports.file_index import FilePage
from ktms.ports.file_store import PIECE_BYTES, FileInUse, FilesFull, Piece
from tests.contracts.shelf_stage import OTHER, OWNER, TENANT, Shelf


async def test_a_file_comes_back_as_it_was_sent(shelf: Shelf) -> None:
    pieces = (b"a" * PIECE_BYTES, b"\x00\xff", b"end")
    name = await shelf.file(*pieces)
    found = await shelf.index.find(name, OWNER)
    assert found is not None
    assert (found.name, found.purpose, found.size_bytes) == ("in.jsonl", "batch", PIECE_BYTES + 5)
    assert found.expires_at - found.created_at == pytest.approx(3600)
    assert await shelf.content(name) == b"".join(pieces)


async def test_pieces_are_read_from_any_number_on(shelf: Shelf) -> None:
    name = await shelf.file(b"0", b"1", b"2", b"3")
    assert [(one.number, one.content) for one in await shelf.files.read(name, 1, 2)] == [(1, b"1"), (2, b"2")]


async def test_an_empty_file_is_one_too(shelf: Shelf) -> None:
    name = file_id(shelf.fresh())
    await shelf.files.begin(NewFile(name, OWNER, TENANT, "empty", 60.0))
    assert (await shelf.files.finish(name)).size_bytes == 0
    assert await shelf.content(name) == b""


async def test_the_files_of_an_owner_have_so_much_room_and_no_more(shelf: Shelf) -> None:
    async def begin(size: int, owner: KeyId = OWNER) -> FileId:
        name = file_id(shelf.fresh())
        await shelf.files.begin(NewFile(name, owner, TENANT, "x", 60.0, size, owner_max=10))
        return name

    await shelf.file(b"six by")
    half = await begin(4)
    with pytest.raises(FilesFull):
        await begin(1)
    await begin(10, OTHER)
    await shelf.files.append(half, [Piece(0, b"y")])
    await shelf.files.finish(half)  # it was smaller than it might have been
    await begin(3)
    with pytest.raises(FilesFull):
        await begin(1)
    await shelf.files.delete(half, OWNER)
    await begin(1)


async def test_many_files_at_once_do_not_pass_the_room_of_their_owner(shelf: Shelf) -> None:
    files = [NewFile(file_id(shelf.fresh()), OWNER, TENANT, "x", 60.0, 4, owner_max=10) for _ in range(6)]
    ends = await asyncio.gather(*(shelf.files.begin(file) for file in files), return_exceptions=True)
    assert sum(isinstance(end, FilesFull) for end in ends) == 4


async def test_a_deleted_file_is_gone_and_deleting_it_twice_says_so(shelf: Shelf) -> None:
    name = await shelf.file(b"x")
    assert await shelf.files.delete(name, OWNER)
    assert not await shelf.files.delete(name, OWNER)
    assert await shelf.content(name) == b""


async def test_a_file_that_a_batch_needs_cannot_be_deleted(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    for file in (new.input_file, new.output_file):
        with pytest.raises(FileInUse):
            await shelf.files.delete(file, OWNER)
    assert await shelf.index.find(new.input_file, OWNER) is not None


async def test_a_store_that_is_away_says_so(shelf: Shelf) -> None:
    name = await shelf.file(b"x")
    await shelf.take_away()
    for ask in (
        shelf.index.find(name, OWNER),
        shelf.index.list(OWNER, FilePage(1)),
        shelf.files.read(name, 0, 1),
        shelf.files.finish(name),
        shelf.files.delete(name),
        shelf.files.append(name, [Piece(1, b"y")]),
        shelf.files.begin(NewFile(name, OWNER, TENANT, "x", 1.0)),
    ):
        with pytest.raises(StoreAway):
            await ask
