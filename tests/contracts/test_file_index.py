from ktms.domain.batch.batch import NewFile
from ktms.domain.batch.names import file_id
from ktms.ports.file_index import FilePage
from ktms.ports.file_store import Piece
from tests.contracts.shelf_stage import OTHER, OWNER, TENANT, Shelf


async def test_a_file_is_its_owners_alone(shelf: Shelf) -> None:
    name = await shelf.file(b"x")
    assert await shelf.index.find(name, OTHER) is None
    assert list(await shelf.index.list(OTHER, FilePage(10))) == []
    assert not await shelf.files.delete(name, OTHER)
    assert await shelf.index.find(name, OWNER) is not None


async def test_files_are_listed_in_pages_either_way(shelf: Shelf) -> None:
    names = [await shelf.file(b"x") for _ in range(4)]
    newest = await shelf.index.list(OWNER, FilePage(3))
    assert [one.id for one in newest] == names[:0:-1]
    behind = await shelf.index.list(OWNER, FilePage(3, after=names[1]))
    assert [one.id for one in behind] == [names[0]]
    oldest = await shelf.index.list(OWNER, FilePage(2, after=names[0], newest_first=False, purpose="batch"))
    assert [one.id for one in oldest] == names[1:3]
    assert list(await shelf.index.list(OWNER, FilePage(2, purpose="batch_output"))) == []


async def test_a_file_that_is_not_finished_is_seen_by_nobody(shelf: Shelf) -> None:
    name = file_id(shelf.fresh())
    await shelf.files.begin(NewFile(name, OWNER, TENANT, "half", 60.0))
    await shelf.files.append(name, [Piece(0, b"x")])
    assert await shelf.index.find(name, OWNER) is None
    assert list(await shelf.index.list(OWNER, FilePage(10))) == []
