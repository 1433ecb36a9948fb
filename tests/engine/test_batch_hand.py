import asyncio

from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.call import Route
from ktms.domain.ids import KeyId
from ktms.engine.batch_hand import SETTLES_S, Hand, Held, Rests, Turns
from ktms.ports.line_store import ReadyBatch

A, B, C = (BatchId(name) for name in "abc")
ONE, TWO = KeyId("one"), KeyId("two")


def line(batch: BatchId = A, number: int = 1) -> ClaimedLine:
    return ClaimedLine(LineRef(batch, number, 1), ONE, Route.CHAT, FileId("f"), 0, 9, 60.0)


def test_a_line_waits_once_it_had_time_to_settle_and_while_nobody_was_asked() -> None:
    held = Held(line(), 10.0, 10.0)
    assert held.seen(10.0 + SETTLES_S / 2).waits_s is None
    assert held.seen(15.0).waits_s == 5.0
    held.ended = True
    assert held.seen(15.0).waits_s is None


def test_lines_in_hand_are_found_by_their_claims() -> None:
    hand = Hand()
    held = hand.take(line(), 0.0)
    assert (len(hand), list(hand), hand.refs()) == (1, [held], (held.line.ref,))
    assert hand.of(held.line.ref) is held
    assert (hand.of_batch(A), hand.of_batch(B)) == (True, False)
    assert (hand.waits(0.0), hand.waits(5.0)) == (False, True)
    hand.drop(held.line.ref)
    assert (len(hand), hand.of(held.line.ref), hand.waits(5.0)) == (0, None, False)


async def test_a_line_is_called_back_once_so_that_it_can_be_given_back() -> None:
    given_back = asyncio.Event()

    async def run() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            given_back.set()

    held = Held(line(), 0.0, 0.0)
    held.call_back()
    assert not held.leaves
    async with asyncio.TaskGroup() as group:
        held.task = group.create_task(run())
        await asyncio.sleep(0)
        held.call_back()
        await asyncio.sleep(0)
        held.call_back()
    assert (held.leaves, given_back.is_set()) == (True, True)


def test_keys_and_batches_rest_until_their_time_is_over() -> None:
    rests = Rests({ONE: 5.0}, {C: 9.0})
    ready = [ReadyBatch(A, ONE), ReadyBatch(B, TWO), ReadyBatch(C, TWO)]
    assert rests.awake(ready) == {B: TWO}
    rests.over(6.0)
    assert (rests.awake(ready), bool(rests)) == ({A: ONE, B: TWO}, True)
    rests.over(10.0)
    assert (list(rests.awake(ready)), bool(rests)) == ([A, B, C], False)


def test_who_had_no_place_for_longest_is_next() -> None:
    turns = Turns()
    ready = {A: ONE, B: ONE, C: TWO}
    turns.had(A, ONE, 1.0)
    assert list(turns.ordered(ready)) == [C, B, A]
    turns.had(C, TWO, 2.0)
    assert list(turns.ordered(ready)) == [B, A, C]
    assert list(turns.ordered({C: TWO})) == [C]
    assert (set(turns.keys), set(turns.batches)) == ({TWO}, {C})
