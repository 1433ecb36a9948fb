from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.batch.names import BatchId
from ktms.domain.batch.shares import shares

A, B, C = (BatchId(name) for name in "abc")
BATCHES = st.lists(st.sampled_from([A, B, C]), unique=True)


def test_places_are_shared_in_turn() -> None:
    assert shares([A, B], {}, 5) == {A: 3, B: 2}


def test_whoever_has_less_under_way_catches_up_first() -> None:
    assert shares([A, B], {A: 4}, 5) == {B: 4, A: 1}


def test_without_batches_or_places_nobody_gets_any() -> None:
    assert shares([], {A: 1}, 5) == {}
    assert shares([A], {}, 0) == {}


@given(BATCHES, st.dictionaries(st.sampled_from([A, B, C]), st.integers(0, 9)), st.integers(0, 20))
def test_all_places_are_given_and_nobody_new_is_ahead(
    ready: list[BatchId], running: dict[BatchId, int], places: int
) -> None:
    found = shares(ready, running, places)
    assert sum(found.values()) == (places if ready else 0)
    after = {batch: running.get(batch, 0) + found.get(batch, 0) for batch in ready}
    assert all(after[batch] <= min(after.values()) + 1 for batch in found)
