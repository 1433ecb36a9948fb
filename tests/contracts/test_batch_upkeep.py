import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.batch.batch import FileComplaint, NewFile
from ktms.domain.batch.names import BatchId, file_id
from ktms.domain.batch.state import BatchState
from ktms.domain.ids import KeyId
from ktms.ports.batch_upkeep import UNFINISHED_MAX_S, Moved, NewLine
from ktms.ports.line_store import LEASE_S, LineEnd, LineResult
from tests.contracts.shelf_stage import OTHER, OWNER, TENANT, Shelf, shelf_in_memory

THIRD = KeyId("third-key0")

DONE, LATE = LineResult(LineEnd.DONE, b"yes\n"), LineResult(LineEnd.EXPIRED, b"late\n")


async def test_broken_lines_fail_by_themselves_and_the_others_wait(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    examination = await shelf.upkeep.examine()
    assert examination is not None
    assert (examination.batch, examination.input_file) == (new.id, new.input_file)
    await shelf.upkeep.add_lines(examination, [NewLine(1, 0, 5), NewLine(2, 6, 5, b"broken\n")])
    await shelf.upkeep.examined(examination, ())
    found = await shelf.found(new.id)
    assert (found.state, found.total, found.completed, found.failed) == (BatchState.IN_PROGRESS, 2, 0, 1)
    assert found.times.in_progress_at is not None
    assert [line.ref.number for line in await shelf.lines.claim(new.id, 5)] == [1]


async def test_a_file_that_is_no_batch_fails_it_whole(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    examination = await shelf.upkeep.examine()
    assert examination is not None
    await shelf.upkeep.add_lines(examination, [NewLine(1, 0, 5, b"broken\n")])
    told = (FileComplaint("too_many_lines", "too many", 50_001),)
    await shelf.upkeep.examined(examination, told)
    found = await shelf.found(new.id)
    assert (found.state, found.total, found.complaints) == (BatchState.FAILED, 0, told)
    assert (found.output_file, found.error_file) == (None, None)
    assert await shelf.files.delete(new.input_file, OWNER)


async def test_one_replica_examines_a_batch_and_another_only_after_its_lease(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    first = await shelf.upkeep.examine()
    assert first is not None
    await shelf.upkeep.add_lines(first, [NewLine(1, 0, 5, b"broken\n"), NewLine(2, 6, 5)])
    assert await shelf.upkeep.examine() is None
    await shelf.later(LEASE_S + 1)
    second = await shelf.upkeep.examine()
    assert second is not None
    assert not await shelf.upkeep.add_lines(first, [NewLine(3, 12, 5)])
    await shelf.upkeep.examined(first, ())
    assert (await shelf.found(new.id)).state is BatchState.VALIDATING
    assert await shelf.upkeep.add_lines(second, [NewLine(1, 0, 5)])
    await shelf.upkeep.examined(second, ())
    found = await shelf.found(new.id)
    assert (found.total, found.failed) == (1, 0)


async def test_a_batch_whose_window_is_over_expires_with_the_results_it_has(shelf: Shelf) -> None:
    batch = await shelf.batch(3, window_s=600.0)
    done, running = await shelf.lines.claim(batch, 2)
    assert done.left_s == pytest.approx(600, abs=5)
    await shelf.lines.finish(done.ref, DONE)
    await shelf.later(590)
    assert await shelf.lines.renew([running.ref]) == {running.ref: True}
    await shelf.later(11)
    assert list(await shelf.upkeep.move_on()) == [Moved(batch, BatchState.FINALIZING)]
    (late,) = await shelf.lines.claim(batch, 5)
    assert late.left_s <= 0
    await shelf.lines.finish(late.ref, LATE)
    assert list(await shelf.upkeep.move_on()) == []
    assert await shelf.lines.finish(running.ref, DONE)
    assert list(await shelf.upkeep.move_on()) == [Moved(batch, BatchState.EXPIRED)]
    found = await shelf.found(batch)
    assert (found.state, found.completed, found.failed) == (BatchState.EXPIRED, 2, 1)
    assert found.error_file is not None
    assert await shelf.content(found.error_file) == b"late\n"


async def test_a_batch_nobody_examined_in_time_expires(shelf: Shelf) -> None:
    new = await shelf.new_batch(window_s=10.0)
    await shelf.batches.create(new)
    await shelf.later(11)
    assert await shelf.upkeep.examine() is None
    assert list(await shelf.upkeep.move_on()) == [Moved(new.id, BatchState.EXPIRED)]


async def test_what_was_found_in_half_a_file_is_gone_when_its_batch_expires(shelf: Shelf) -> None:
    new = await shelf.new_batch(window_s=10.0)
    await shelf.batches.create(new)
    examination = await shelf.upkeep.examine()
    assert examination is not None
    assert await shelf.upkeep.add_lines(examination, [NewLine(1, 0, 5), NewLine(2, 6, 5, b"broken\n")])
    await shelf.later(11)
    assert list(await shelf.upkeep.move_on()) == [Moved(new.id, BatchState.EXPIRED)]
    found = await shelf.found(new.id)
    assert (found.total, found.failed, found.error_file) == (0, 0, None)


async def test_a_batch_that_was_cancelled_before_anybody_examined_it_is_examined_by_nobody(shelf: Shelf) -> None:
    new = await shelf.new_batch()
    await shelf.batches.create(new)
    await shelf.batches.cancel(new.id, OWNER)
    assert await shelf.upkeep.examine() is None


async def test_batches_are_forgotten_when_their_time_is_over_but_not_before_they_ended(shelf: Shelf) -> None:
    batch = await shelf.batch(1, keep_s=100.0)
    line = await shelf.one(batch)
    await shelf.later(101)
    assert await shelf.upkeep.forget_old() == 0
    await shelf.lines.finish(line.ref, DONE)
    await shelf.upkeep.move_on()
    assert (await shelf.found(batch)).state is BatchState.COMPLETED
    assert await shelf.upkeep.forget_old() == 2
    assert await shelf.batches.find(batch, OWNER) is None
    assert not await shelf.lines.finish(line.ref, DONE)


async def test_waiting_lines_are_counted_while_their_batch_wants_them(shelf: Shelf) -> None:
    await shelf.batch(2)
    gone = await shelf.batch(3)
    assert await shelf.upkeep.waiting() == 5
    await shelf.batches.cancel(gone, OWNER)
    await shelf.upkeep.move_on()
    assert await shelf.upkeep.waiting() == 2


async def test_two_who_move_batches_at_once_move_each_once(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    await shelf.lines.finish((await shelf.one(batch)).ref, DONE)
    both = await asyncio.gather(shelf.upkeep.move_on(), shelf.upkeep.move_on())
    assert sorted(map(len, both)) == [0, 2]


async def test_files_are_forgotten_when_their_time_is_over_and_uploads_that_never_ended_with_them(
    shelf: Shelf,
) -> None:
    stays, goes = await shelf.file(b"x", keep_s=2 * UNFINISHED_MAX_S), await shelf.file(b"x", keep_s=100)
    half = file_id(shelf.fresh())
    await shelf.files.begin(NewFile(half, OWNER, TENANT, "half", 2 * UNFINISHED_MAX_S))
    assert await shelf.upkeep.forget_old() == 0
    await shelf.later(UNFINISHED_MAX_S + 1)
    assert await shelf.upkeep.forget_old() == 2
    assert await shelf.index.find(stays, OWNER) is not None
    assert await shelf.index.find(goes, OWNER) is None
    assert not await shelf.files.delete(half)


async def turns(shelf: Shelf, events: Sequence[KeyId | None]) -> list[tuple[KeyId, frozenset[KeyId]]]:
    """Make a batch of each owner and examine one for each None; gives whose it was, and who else waited then."""
    owners: dict[BatchId, KeyId] = {}
    waiting: Counter[KeyId] = Counter()
    found = []
    for owner in events:
        if owner is not None:
            new = await shelf.new_batch(owner=owner, input_file=await shelf.file(b"lines", owner=owner))
            assert await shelf.batches.create(new) is not None
            owners[new.id] = owner
            waiting[owner] += 1
        elif (examination := await shelf.upkeep.examine()) is not None:
            await shelf.upkeep.add_lines(examination, [NewLine(1, 0, 5)])
            await shelf.upkeep.examined(examination, ())
            whose = owners[examination.batch]
            waiting[whose] -= 1
            found.append((whose, frozenset(one for one in waiting if waiting[one] and one != whose)))
            await shelf.later(0.001)
    return found


def unfair(found: Sequence[tuple[KeyId, frozenset[KeyId]]]) -> list[tuple[KeyId, KeyId]]:
    """Give who was examined twice while somebody waited all the time: of each the two."""
    wrong = []
    for at, (whose, waited) in enumerate(found):
        for later, (again, _) in enumerate(found[at + 1 :], at + 1):
            if again == whose:
                between = found[at + 1 : later]
                wrong += [(whose, one) for one in waited if all(one != other for other, _ in between)]
                break
    return wrong


async def test_owners_take_turns_in_being_examined(shelf: Shelf) -> None:
    flood = [OWNER] * 8 + [None] * 3 + [OTHER] + [None] * 2 + [THIRD, OTHER] + [None] * 20
    found = await turns(shelf, flood)
    assert [whose for whose, _ in found[:7]] == [OWNER, OWNER, OWNER, OTHER, OWNER, THIRD, OTHER]
    assert (len(found), unfair(found)) == (11, [])


async def test_batches_of_one_owner_are_examined_in_their_order(shelf: Shelf) -> None:
    made = [await shelf.new_batch() for _ in range(3)]
    for new in made:
        await shelf.batches.create(new)
    found = [await shelf.upkeep.examine() for _ in made]
    assert [one.batch for one in found if one is not None] == [new.id for new in made]


@given(st.lists(st.sampled_from([OWNER, OTHER, THIRD, None, None, None]), max_size=60))
def test_nobody_is_examined_twice_while_another_waits_whatever_comes(events: list[KeyId | None]) -> None:
    assert unfair(asyncio.run(turns(shelf_in_memory(), [*events, *(None for _ in events)]))) == []
