import pytest

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.api.admin_grpc.batch_service import PAGE_SIZE, BatchService
from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.method import NotFound
from ktms.domain.access.actor import Actor, Role
from ktms.domain.ids import KeyId
from tests.contracts.shelf_stage import Shelf, over

ACTOR = Actor("tester", Role.OWNER)


@pytest.fixture
def shelf() -> Shelf:
    clock, store = ManualClock(), MemoryStore()
    return over(MemoryShelf(clock, store), clock.advance, store)


@pytest.fixture
def service(shelf: Shelf) -> BatchService:
    assert isinstance(shelf.batches, MemoryBatchStore)
    return BatchService(shelf.batches)


async def test_pages_follow_each_other(service: BatchService, shelf: Shelf) -> None:
    names = [await shelf.batch(1) for _ in range(3)]
    first = await service.list_batches(admin_pb2.ListBatchesRequest(page_size=2), ACTOR)
    assert ([each.id for each in first.batches], first.next_page_token) == (names[:0:-1], names[1])
    rest = await service.list_batches(admin_pb2.ListBatchesRequest(page_token=first.next_page_token), ACTOR)
    assert ([each.id for each in rest.batches], rest.next_page_token) == (names[:1], "")


async def test_a_page_has_a_usual_size(service: BatchService, shelf: Shelf) -> None:
    for number in range(PAGE_SIZE + 1):
        owner = KeyId(f"of-many-{number % 3}")  # one alone may not have so many open
        given = await shelf.file(b"lines", owner=owner)
        await shelf.batches.create(await shelf.new_batch(owner=owner, input_file=given))
    page = await service.list_batches(admin_pb2.ListBatchesRequest(), ACTOR)
    assert (len(page.batches), bool(page.next_page_token)) == (PAGE_SIZE, True)


async def test_a_page_behind_nothing_is_not_found(service: BatchService) -> None:
    with pytest.raises(NotFound):
        await service.list_batches(admin_pb2.ListBatchesRequest(page_token="x"), ACTOR)
