import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.batch.state import CANCELLABLE, ENDED, NEXT, BatchState, Progress, due

NOTHING = Progress()


def test_what_has_ended_stays_as_it_is() -> None:
    assert {state.value for state in ENDED} == {"completed", "failed", "expired", "cancelled"}
    assert all(due(state, NOTHING, over=True) is None for state in ENDED)


def test_a_batch_can_be_cancelled_until_it_is_finalizing() -> None:
    assert {state.value for state in CANCELLABLE} == {"validating", "in_progress"}


@pytest.mark.parametrize(
    ("state", "progress", "over", "following"),
    [
        ("validating", NOTHING, False, None),
        ("validating", Progress(waiting=3), True, "expired"),
        ("in_progress", Progress(waiting=1), False, None),
        ("in_progress", Progress(running=1), False, None),
        ("in_progress", Progress(waiting=1, running=1), False, None),
        ("in_progress", Progress(done=1, failed=1), False, "finalizing"),
        ("in_progress", Progress(waiting=1, running=1), True, "finalizing"),
        ("finalizing", Progress(waiting=1), True, None),
        ("finalizing", Progress(running=1), True, None),
        ("finalizing", Progress(waiting=1, running=1), True, None),
        ("finalizing", Progress(done=2), True, "completed"),
        ("finalizing", Progress(done=2, expired=1), True, "expired"),
        ("cancelling", Progress(waiting=5, running=1), False, None),
        ("cancelling", Progress(waiting=5, done=1), False, "cancelled"),
        ("cancelling", Progress(waiting=5, done=1), True, "cancelled"),
    ],
)
def test_a_batch_moves_on_when_it_is_due(
    state: str, progress: Progress, following: str | None, *, over: bool
) -> None:
    found = due(BatchState(state), progress, over=over)
    assert (None if found is None else found.value) == following


COUNTS = st.integers(0, 2)


@given(
    state=st.sampled_from(BatchState),
    progress=st.builds(Progress, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS),
    over=st.booleans(),
)
def test_a_batch_only_moves_as_the_table_allows(state: BatchState, progress: Progress, *, over: bool) -> None:
    following = due(state, progress, over=over)
    assert following is None or following in NEXT[state]


def test_all_lines_are_counted() -> None:
    assert Progress(1, 2, 3, 4, 5).total == 15
