from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.batch.names import BatchId
from ktms.domain.batch.shares import TURN_S, InHand, shares, to_give_up
from ktms.domain.ids import KeyId

A, B, C = (BatchId(name) for name in "abc")
ONE, TWO = KeyId("one"), KeyId("two")
OWNERS = {A: ONE, B: ONE, C: TWO}
BATCHES = st.sampled_from([A, B, C])
READY = st.lists(BATCHES, unique=True).map(lambda names: {name: OWNERS[name] for name in names})
WAITS = st.none() | st.sampled_from([0.0, TURN_S])
IN_HAND = st.lists(
    st.builds(lambda name, waits: InHand(name, OWNERS[name], waits), st.sampled_from([A, B, C]), WAITS)
)


def in_hand(batch: BatchId, lines: int, waits_s: float | None = None) -> list[InHand]:
    return [InHand(batch, OWNERS[batch], waits_s) for _ in range(lines)]


def by_key(lines: list[InHand]) -> Counter[KeyId]:
    return Counter(line.owner for line in lines)


def test_places_are_shared_in_turn() -> None:
    assert shares({A: ONE, C: TWO}, [], 5) == {A: 3, C: 2}


def test_batches_of_one_key_share_what_the_key_gets() -> None:
    assert shares(OWNERS, [], 8) == {A: 2, B: 2, C: 4}


def test_whoever_has_less_under_way_catches_up_first() -> None:
    assert shares({A: ONE, C: TWO}, in_hand(A, 4), 5) == {C: 4, A: 1}
    assert shares({A: ONE, B: ONE}, in_hand(A, 4), 5) == {B: 4, A: 1}


def test_many_batches_are_no_way_to_more_places() -> None:
    many = {BatchId(str(number)): ONE for number in range(50)}
    assert shares({**many, C: TWO}, [], 4)[C] == 2


def test_without_batches_or_places_nobody_gets_any() -> None:
    assert shares({}, in_hand(A, 1), 5) == {}
    assert shares({A: ONE}, [], 0) == {}


def test_lines_that_wait_make_room_for_a_key_that_has_fewer() -> None:
    assert to_give_up({C: TWO}, in_hand(A, 4, 0.0)) == [0, 1]
    assert to_give_up({C: TWO}, [*in_hand(A, 3, 0.0), *in_hand(C, 1, 0.0)]) == [0]


def test_lines_that_wait_make_room_for_another_batch_of_their_key() -> None:
    assert to_give_up({B: ONE}, in_hand(A, 4, 0.0)) == [0, 1]


def test_lines_that_are_answered_keep_their_places() -> None:
    assert to_give_up({C: TWO}, in_hand(A, 4)) == []
    assert to_give_up({C: TWO}, [*in_hand(A, 3), *in_hand(A, 1, 0.0)]) == [3]


def test_who_has_one_line_less_gets_a_turn_after_a_while() -> None:
    assert to_give_up({C: TWO}, in_hand(A, 1, TURN_S - 1)) == []
    assert to_give_up({C: TWO}, in_hand(A, 1, TURN_S)) == [0]
    assert to_give_up({C: TWO}, [*in_hand(A, 1, 0.0), *in_hand(B, 1, TURN_S)]) == [1]
    three = [
        InHand(BatchId(name), KeyId(name), waits_s) for name, waits_s in (("x", 0.0), ("y", TURN_S), ("z", 0.0))
    ]
    assert to_give_up({C: TWO}, three) == [1]


def test_nothing_is_given_up_for_nobody() -> None:
    assert to_give_up({}, in_hand(A, 4, TURN_S)) == []
    assert to_give_up({A: ONE}, in_hand(A, 4, TURN_S)) == []
    assert to_give_up({C: TWO}, []) == []


@given(READY, IN_HAND, st.integers(0, 20))
def test_all_places_are_given_and_no_key_is_put_ahead(
    ready: dict[BatchId, KeyId], lines: list[InHand], places: int
) -> None:
    found = shares(ready, lines, places)
    assert sum(found.values()) == (places if ready else 0)
    after = by_key([*lines, *(line for batch, more in found.items() for line in in_hand(batch, more))])
    least = min((after[owner] for owner in ready.values()), default=0)
    assert all(after[OWNERS[batch]] <= least + 1 for batch in found)


@given(READY, IN_HAND)
def test_what_is_given_up_leaves_nobody_behind_whom_it_helps(
    ready: dict[BatchId, KeyId], lines: list[InHand]
) -> None:
    given_up = to_give_up(ready, lines)
    assert len(set(given_up)) == len(given_up)
    assert all(lines[at].waits_s is not None for at in given_up)
    kept = [line for at, line in enumerate(lines) if at not in given_up]
    more = shares(ready, kept, len(given_up))
    assert sum(more.values()) == len(given_up)
    again = [*kept, *(line for batch, count in more.items() for line in in_hand(batch, count, 0.0))]
    assert to_give_up(ready, again) == [] or any((line.waits_s or 0.0) >= TURN_S for line in again)
