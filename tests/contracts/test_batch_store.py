import asyncio
from dataclasses import replace

import pytest

from ktms.adapters.memory import batch_store as memory_batch_store
from ktms.adapters.postgres import batch_store as postgres_batch_store
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import Once
from ktms.domain.batch.names import batch_id
from ktms.domain.batch.state import BatchState
from ktms.ports.batch_store import OtherBatch, TooManyBatches
from ktms.ports.batch_upkeep import Moved, NewLine
from ktms.ports.catalogue import StoreAway
from ktms.ports.file_store import FilesFull
from ktms.ports.line_store import LineEnd, LineResult
from tests.contracts.shelf_stage import OTHER, OWNER, Shelf

DONE, FAILED = LineResult(LineEnd.DONE, b"yes\n"), LineResult(LineEnd.FAILED, b"no\n")
LATE = LineResult(LineEnd.EXPIRED, b"late\n")


async def test_a_batch_begins_by_being_examined(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    made = await shelf.batches.create(new)
    assert made is not None
    assert (made.id, made.owner, made.input_file) == (new.id, OWNER, new.input_file)
    assert (made.state, made.total, made.output_file, made.error_file) == (BatchState.VALIDATING, 0, None, None)
    assert made.metadata == {"a": "b"}
    assert made.times.expires_at - made.times.created_at == pytest.approx(24 * 3600)


async def test_a_batch_that_is_made_twice_is_one(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    assert await shelf.batches.create(new) == await shelf.batches.create(new)
    assert len(await shelf.batches.list(OWNER, 10, None)) == 1


async def test_one_word_of_a_client_makes_one_batch(shelf: Shelf) -> None:
    once = Once("night", bytes(32))
    new = await shelf.new_batch(once=once)
    first = await shelf.batches.create(new)
    again = await shelf.new_batch(once=once)
    assert await shelf.batches.create(again) == first
    assert len(await shelf.batches.list(OWNER, 10, None)) == 1
    assert await shelf.files.delete(again.input_file)


async def test_one_word_for_two_batches_at_once_makes_one(shelf: Shelf) -> None:
    wanted = [await shelf.new_batch(once=Once("night", bytes(32))) for _ in range(4)]
    made = await asyncio.gather(*(shelf.batches.create(new) for new in wanted))
    assert len({batch.id for batch in made if batch is not None}) == 1
    assert None not in made


async def test_a_word_that_was_used_for_another_batch_makes_none(shelf: Shelf) -> None:
    await shelf.batches.create(await shelf.new_batch(once=Once("night", bytes(32))))
    with pytest.raises(OtherBatch):
        await shelf.batches.create(await shelf.new_batch(once=Once("night", b"1" * 32)))
    assert len(await shelf.batches.list(OWNER, 10, None)) == 1


async def test_an_owner_has_so_many_batches_that_have_not_ended_and_no_more(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    for store in (memory_batch_store, postgres_batch_store):
        monkeypatch.setattr(store, "BATCHES_OPEN_MAX", 2)
    ended = await shelf.batch(0)
    await shelf.upkeep.move_on()
    assert (await shelf.found(ended)).state is BatchState.COMPLETED
    once = Once("night", bytes(32))
    first = await shelf.batches.create(await shelf.new_batch(once=once))
    await shelf.batches.create(await shelf.new_batch())
    with pytest.raises(TooManyBatches):
        await shelf.batches.create(await shelf.new_batch())
    assert await shelf.batches.create(await shelf.new_batch(once=once)) == first
    file = await shelf.file(b"lines", owner=OTHER)
    assert await shelf.batches.create(await shelf.new_batch(owner=OTHER, input_file=file)) is not None


async def test_an_owner_whose_files_are_full_makes_no_batch(shelf: Shelf) -> None:
    with pytest.raises(FilesFull):
        await shelf.batches.create(await shelf.new_batch(owner_max=len(b"lines")))
    assert await shelf.batches.create(await shelf.new_batch(owner_max=100)) is not None


async def test_results_of_a_batch_are_no_input_of_another(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    await shelf.lines.finish((await shelf.one(batch)).ref, DONE)
    await shelf.upkeep.move_on()
    output = (await shelf.found(batch)).output_file
    assert output is not None
    assert await shelf.batches.create(await shelf.new_batch(input_file=output)) is None


async def test_words_of_two_clients_do_not_meet(shelf: Shelf) -> None:
    await shelf.batches.create(await shelf.new_batch(once=Once("night", bytes(32))))
    other = await shelf.new_batch(
        owner=OTHER, once=Once("night", b"1" * 32), input_file=await shelf.file(b"x", owner=OTHER)
    )
    assert await shelf.batches.create(other) is not None


async def test_a_batch_needs_a_file_of_its_owner(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    assert await shelf.batches.create(replace(new, owner=OTHER)) is None
    await shelf.files.delete(new.input_file)
    assert await shelf.batches.create(new) is None
    assert list(await shelf.batches.list(None, 10, None)) == []


async def test_a_batch_is_its_owners_alone_but_operators_see_it(shelf: Shelf) -> None:
    batch = await shelf.batch()
    assert await shelf.batches.find(batch, OTHER) is None
    assert await shelf.batches.cancel(batch, OTHER) is None
    assert list(await shelf.batches.list(OTHER, 10, None)) == []
    assert (await shelf.found(batch)).state is BatchState.IN_PROGRESS
    assert await shelf.batches.find(batch, None) == await shelf.found(batch)
    assert [one.id for one in await shelf.batches.list(None, 10, None)] == [batch]


async def test_batches_are_listed_newest_first_in_pages(shelf: Shelf) -> None:
    names = [await shelf.batch(1) for _ in range(3)]
    assert [one.id for one in await shelf.batches.list(OWNER, 2, None)] == names[:0:-1]
    assert [one.id for one in await shelf.batches.list(OWNER, 2, names[1])] == names[:1]


async def test_an_unknown_batch_is_none(shelf: Shelf) -> None:
    name = batch_id(shelf.fresh())
    assert await shelf.batches.find(name, OWNER) is None
    assert await shelf.batches.cancel(name, OWNER) is None
    assert list(await shelf.lines.claim(name, 5)) == []


async def test_a_batch_whose_lines_all_ended_is_complete_and_its_results_can_be_read(shelf: Shelf) -> None:
    batch = await shelf.batch(3)
    first, second, third = await shelf.lines.claim(batch, 5)
    assert await shelf.lines.finish(third.ref, DONE)
    assert await shelf.lines.finish(second.ref, FAILED)
    assert await shelf.lines.finish(first.ref, LineResult(LineEnd.DONE, b"x" * 150_000 + b"\n"))
    assert (await shelf.found(batch)).completed == 2
    moved = await shelf.upkeep.move_on()
    assert moved == [Moved(batch, BatchState.FINALIZING), Moved(batch, BatchState.COMPLETED)]
    found = await shelf.found(batch)
    assert (found.state, found.total, found.completed, found.failed) == (BatchState.COMPLETED, 3, 2, 1)
    assert found.output_file is not None
    assert found.error_file is not None
    assert await shelf.content(found.output_file) == b"x" * 150_000 + b"\nyes\n"
    assert await shelf.content(found.error_file) == b"no\n"
    file = await shelf.index.find(found.output_file, OWNER)
    assert file is not None
    assert (file.size_bytes, file.purpose) == (150_005, "batch_output")
    assert file.name == f"{batch}_output.jsonl"


async def test_a_batch_without_errors_has_no_error_file(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    await shelf.lines.finish((await shelf.one(batch)).ref, DONE)
    await shelf.upkeep.move_on()
    assert (await shelf.found(batch)).error_file is None


async def test_after_a_cancellation_no_line_begins_and_those_under_way_may_end(shelf: Shelf) -> None:
    batch = await shelf.batch(3)
    line = await shelf.one(batch)
    cancelled = await shelf.batches.cancel(batch, OWNER)
    assert cancelled is not None
    assert cancelled.state is BatchState.CANCELLING
    assert list(await shelf.lines.claim(batch, 5)) == []
    assert list(await shelf.lines.ready()) == []
    assert list(await shelf.upkeep.move_on()) == []
    assert await shelf.lines.finish(line.ref, DONE)
    assert list(await shelf.upkeep.move_on()) == [Moved(batch, BatchState.CANCELLED)]
    found = await shelf.found(batch)
    assert (found.total, found.completed, found.failed) == (3, 1, 0)
    assert found.output_file is not None
    assert found.times.cancelled_at is not None


async def test_an_operator_cancels_any_batch(shelf: Shelf, actor: Actor) -> None:
    batch = await shelf.batch(1)
    cancelled = await shelf.batches.cancel(batch, actor)
    assert cancelled is not None
    assert cancelled.state is BatchState.CANCELLING
    assert await shelf.batches.cancel(batch_id(shelf.fresh()), actor) is None


async def test_a_batch_that_ended_is_not_cancelled_any_more(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    await shelf.lines.finish((await shelf.one(batch)).ref, DONE)
    await shelf.upkeep.move_on()
    cancelled = await shelf.batches.cancel(batch, OWNER)
    assert cancelled is not None
    assert cancelled.state is BatchState.COMPLETED
    assert cancelled.times.cancelling_at is None


async def test_a_batch_can_be_cancelled_while_it_is_examined(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    examination = await shelf.upkeep.examine()
    assert examination is not None
    await shelf.batches.cancel(new.id, OWNER)
    assert not await shelf.upkeep.add_lines(examination, [NewLine(1, 0, 5)])
    await shelf.upkeep.examined(examination, ())
    assert list(await shelf.upkeep.move_on()) == [Moved(new.id, BatchState.CANCELLED)]


async def test_a_store_that_is_away_says_so(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.take_away()
    for ask in (
        shelf.batches.create(new),
        shelf.batches.find(new.id, OWNER),
        shelf.batches.list(OWNER, 1, None),
        shelf.batches.cancel(new.id, OWNER),
        shelf.upkeep.examine(),
        shelf.upkeep.move_on(),
        shelf.upkeep.waiting(),
        shelf.upkeep.forget_old(),
    ):
        with pytest.raises(StoreAway):
            await ask
