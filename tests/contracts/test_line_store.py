import asyncio
from dataclasses import replace

import pytest

from ktms.domain.batch.batch import LINES_MAX
from ktms.ports.batch_upkeep import ADDED_AT_ONCE
from ktms.ports.catalogue import StoreAway
from ktms.ports.line_store import LEASE_S, LineEnd, LineResult, ReadyBatch
from tests.contracts.shelf_stage import OTHER, OWNER, Shelf

DONE = LineResult(LineEnd.DONE, b"yes\n")


async def test_lines_are_handed_out_in_their_order_and_each_to_one(shelf: Shelf) -> None:
    batch = await shelf.batch(3)
    first = await shelf.lines.claim(batch, 2)
    second = await shelf.lines.claim(batch, 2)
    assert [line.ref.number for line in (*first, *second)] == [1, 2, 3]
    assert list(await shelf.lines.claim(batch, 2)) == []
    line = first[1]
    assert (line.start, line.size_bytes, line.owner) == (20, 9, OWNER)
    assert (line.failures, line.deaths) == (0, 0)


async def test_many_who_claim_at_once_never_get_the_same_line(shelf: Shelf) -> None:
    batch = await shelf.batch(40)
    found = await asyncio.gather(*(shelf.lines.claim(batch, 3) for _ in range(12)))
    numbers = [line.ref.number for lines in found for line in lines]
    assert len(numbers) == len(set(numbers))


async def test_batches_with_lines_to_run_are_ready_oldest_first(shelf: Shelf) -> None:
    first, second = await shelf.batch(1), await shelf.batch(1)
    assert list(await shelf.lines.ready()) == [ReadyBatch(first, OWNER), ReadyBatch(second, OWNER)]
    await shelf.lines.claim(first, 1)
    assert list(await shelf.lines.ready()) == [ReadyBatch(second, OWNER)]


async def test_an_owner_of_many_batches_keeps_nobody_elses_out(shelf: Shelf) -> None:
    many = [await shelf.batch(1) for _ in range(3)]
    file = await shelf.file(b"lines", owner=OTHER)
    late = await shelf.batch(1, owner=OTHER, input_file=file)
    found = [batch.id for batch in await shelf.lines.ready()]
    assert found == [many[0], late, many[1], many[2]]


async def test_a_line_given_back_waits_for_its_pause(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    await shelf.lines.give_back(line.ref, 20.0, failed=False)
    assert list(await shelf.lines.claim(batch, 1)) == []
    assert list(await shelf.lines.ready()) == []
    await shelf.later(21)
    again = await shelf.one(batch)
    assert again.ref == replace(line.ref, claim=line.ref.claim + 1)
    assert again.failures == 0


async def test_failures_of_a_line_are_counted(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    await shelf.lines.give_back((await shelf.one(batch)).ref, 0.0, failed=True)
    assert (await shelf.one(batch)).failures == 1


async def test_a_dead_replicas_lines_come_back_after_the_lease_and_its_death_is_counted(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    await shelf.later(LEASE_S - 2)
    await shelf.upkeep.move_on()
    assert list(await shelf.lines.claim(batch, 1)) == []
    await shelf.later(3)
    await shelf.upkeep.move_on()
    again = await shelf.one(batch)
    assert (again.ref.number, again.deaths) == (line.ref.number, 1)


async def test_a_renewed_claim_lives_on(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    await shelf.later(LEASE_S - 2)
    assert await shelf.lines.renew([line.ref]) == {line.ref: True}
    await shelf.later(LEASE_S - 2)
    await shelf.upkeep.move_on()
    assert await shelf.lines.finish(line.ref, DONE)


async def test_an_older_claim_stores_nothing(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    dead = await shelf.one(batch)
    await shelf.later(LEASE_S + 1)
    await shelf.upkeep.move_on()
    assert await shelf.lines.renew([dead.ref]) == {}
    assert not await shelf.lines.finish(dead.ref, LineResult(LineEnd.DONE, b"old\n"))
    await shelf.lines.give_back(dead.ref, 0.0, failed=True)
    alive = await shelf.one(batch)
    assert alive.failures == 0
    assert not await shelf.lines.finish(dead.ref, LineResult(LineEnd.DONE, b"old\n"))
    assert await shelf.lines.finish(alive.ref, DONE)
    assert not await shelf.lines.finish(dead.ref, LineResult(LineEnd.DONE, b"old\n"))
    await shelf.upkeep.move_on()
    output = (await shelf.found(batch)).output_file
    assert output is not None
    assert await shelf.content(output) == b"yes\n"


async def test_a_late_result_is_taken_while_nobody_else_has_the_line(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    await shelf.later(LEASE_S + 1)
    assert await shelf.lines.finish(line.ref, DONE)


async def test_a_result_that_comes_twice_is_stored_once(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    assert await shelf.lines.finish(line.ref, DONE)
    assert await shelf.lines.finish(line.ref, DONE)
    assert (await shelf.found(batch)).completed == 1


async def test_renewal_tells_of_lines_that_nobody_wants_any_more(shelf: Shelf) -> None:
    kept, gone = await shelf.batch(1), await shelf.batch(1)
    lines = [(await shelf.one(kept)).ref, (await shelf.one(gone)).ref]
    await shelf.batches.cancel(gone, OWNER)
    assert await shelf.lines.renew(lines) == {lines[0]: True, lines[1]: False}


async def test_the_largest_batch_fits(shelf: Shelf) -> None:
    """Half of it, to be quick; the statements do not know the difference."""
    assert LINES_MAX % ADDED_AT_ONCE == 0
    batch = await shelf.batch(ADDED_AT_ONCE)
    found = await shelf.lines.claim(batch, 100)
    assert [line.ref.number for line in found] == list(range(1, 101))
    assert (await shelf.found(batch)).total == ADDED_AT_ONCE


async def test_a_store_that_is_away_says_so(shelf: Shelf) -> None:
    batch = await shelf.batch(1)
    line = await shelf.one(batch)
    await shelf.take_away()
    for ask in (
        shelf.lines.ready(),
        shelf.lines.claim(batch, 1),
        shelf.lines.renew([line.ref]),
        shelf.lines.finish(line.ref, DONE),
        shelf.lines.give_back(line.ref, 0.0, failed=False),
    ):
        with pytest.raises(StoreAway):
            await ask
