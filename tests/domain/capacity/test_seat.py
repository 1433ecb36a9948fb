"""What a choice counts as taken, whether a node drains, how large a window is believed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.engine_metrics import UNKNOWN_LOAD, EngineLoad
from tests.domain.capacity.fleets import seat


def test_n10_leases_count_where_the_engine_still_tells_of_none() -> None:
    state = seat("a", slots=8).state
    state.hear(EngineLoad(running=0, waiting=0))
    state.busy = 3
    assert (state.busy, state.taken) == (3, 3)


def test_calls_from_elsewhere_are_seen_beside_the_leases() -> None:
    state = seat("a", slots=8, busy=2).state
    state.hear(EngineLoad(running=5, waiting=1))
    assert (state.busy, state.taken) == (2, 6)


def test_n12_what_the_engine_does_not_tell_counts_for_nothing() -> None:
    state = seat("a", slots=8, busy=2).state
    state.hear(EngineLoad(kv_used=0.9))
    assert state.taken == 2


def test_what_the_engine_said_before_can_be_forgotten() -> None:
    state = seat("a", slots=8, busy=2).state
    state.hear(EngineLoad(running=5))
    state.hear(UNKNOWN_LOAD)
    assert (state.taken, state.load) == (2, UNKNOWN_LOAD)


def test_a_call_that_ended_since_the_engine_spoke_is_no_longer_in_it() -> None:
    state = seat("a", slots=8, busy=3).state
    state.hear(EngineLoad(running=5))
    state.busy = 2
    state.done(1)
    assert state.taken == 4
    state.done(9)
    assert state.taken == 2


@given(st.lists(st.tuples(st.sampled_from(["busy", "hear", "done"]), st.integers(0, 9)), max_size=30))
def test_leases_are_never_counted_less_than_they_are(steps: list[tuple[str, int]]) -> None:
    state = seat("a", slots=8).state
    for what, count in steps:
        match what:
            case "busy":
                state.busy = count
            case "hear":
                state.hear(EngineLoad(running=count))
                assert state.taken == max(state.busy, count)
            case _:
                state.done(count)
        assert state.taken >= state.busy


def test_a_state_tells_what_is_taken_of_its_node() -> None:
    assert repr(seat("a", slots=8, busy=2).state) == "NodeState(a, 2 of 8)"


@pytest.mark.parametrize("announced", [False, True])
@pytest.mark.parametrize("says", [False, True])
def test_a_node_drains_where_it_announced_so_or_says_so(announced: bool, says: bool) -> None:
    state = seat("a").state
    state.follow(replace(state.node, draining=announced))
    state.drains(says=says)
    assert state.draining is (announced or says)


def test_an_announcement_that_ends_is_newer_than_what_the_node_said() -> None:
    state = seat("a").state
    assert not state.follow(replace(state.node, draining=True))
    state.drains(says=True)
    assert state.follow(replace(state.node, draining=False))
    assert not state.draining


def test_what_a_node_says_outlives_a_catalogue_that_says_nothing_of_it() -> None:
    state = seat("a").state
    state.drains(says=True)
    assert not state.follow(replace(state.node))
    assert state.draining


def test_the_smallest_window_that_is_known_is_believed() -> None:
    one = seat("a", window=8192)
    one.tell(2048)
    assert one.window == 2048
    one.tell(16_384)
    assert one.window == 8192
    one.show(4096)
    one.show(6000)
    one.tell(9000)
    assert one.window == 4096


def test_of_a_window_that_nobody_declared_what_is_told_and_shown_counts() -> None:
    one = seat("a", window=None)
    one.tell(2048)
    one.show(4096)
    assert one.window == 2048


def test_what_is_known_of_a_window_says_nothing_of_one_declared_anew() -> None:
    one = seat("a", window=8192)
    one.tell(2048)
    one.show(1024)
    one.declare(4096)
    assert one.window == 4096
    one.tell(16_384)
    assert one.window == 4096
