"""The breaker of one origin."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.routing.breaker import (
    FAILURES_MAX,
    NEXT,
    OPEN_S,
    TRIAL_MAX_S,
    TRIAL_WAIT_S,
    Breaker,
    Event,
    State,
)


def opened(at: float = 0.0) -> Breaker:
    breaker = Breaker()
    for _ in range(FAILURES_MAX):
        breaker.failed(at)
    return breaker


def on_trial() -> Breaker:
    breaker = opened()
    assert breaker.admits(OPEN_S)
    return breaker


def test_a_new_breaker_passes() -> None:
    breaker = Breaker()

    assert breaker.admits(0.0)
    assert not breaker.on_trial
    assert breaker.opens_in(0.0) == 0.0


def test_fewer_failures_than_allowed_change_nothing() -> None:
    breaker = Breaker()
    for _ in range(FAILURES_MAX - 1):
        breaker.failed(0.0)

    assert breaker.admits(0.0)


def test_an_answer_in_between_begins_the_count_anew() -> None:
    breaker = Breaker()
    for _ in range(10 * FAILURES_MAX):
        for _ in range(FAILURES_MAX - 1):
            breaker.failed(0.0)
        breaker.succeeded()

    assert breaker.state is State.CLOSED


def test_an_open_breaker_refuses_until_its_time() -> None:
    breaker = opened(at=100.0)

    assert not breaker.admits(100.0)
    assert not breaker.admits(100.0 + OPEN_S - 0.001)
    assert breaker.opens_in(110.0) == OPEN_S - 10.0


def test_then_exactly_one_trial_passes() -> None:
    breaker = opened()

    assert [breaker.admits(OPEN_S) for _ in range(5)] == [True, False, False, False, False]
    assert breaker.on_trial
    assert breaker.opens_in(OPEN_S) == TRIAL_WAIT_S


def test_a_good_trial_closes_it() -> None:
    breaker = on_trial()
    breaker.succeeded()

    assert breaker.admits(OPEN_S)
    assert repr(breaker) == "Breaker(closed, 0/5 failures)"


def test_a_bad_trial_opens_it_for_the_full_time_again() -> None:
    breaker = on_trial()
    breaker.failed(40.0)

    assert breaker.opens_in(40.0) == OPEN_S
    assert not breaker.admits(69.9)
    assert breaker.admits(70.0)


def test_after_a_good_trial_a_single_failure_does_not_open_it() -> None:
    breaker = on_trial()
    breaker.succeeded()
    breaker.failed(50.0)

    assert breaker.state is State.CLOSED


def test_an_abandoned_trial_lets_another_one_pass_at_once() -> None:
    breaker = on_trial()
    breaker.abandoned()

    assert [breaker.admits(OPEN_S) for _ in range(2)] == [True, False]


def test_abandoning_means_nothing_to_a_closed_breaker() -> None:
    breaker = Breaker()
    breaker.abandoned()

    assert breaker.state is State.CLOSED


def test_a_trial_nobody_told_about_is_lost_in_the_end() -> None:
    breaker = on_trial()

    assert not breaker.admits(OPEN_S + TRIAL_MAX_S - 0.001)
    assert breaker.admits(OPEN_S + TRIAL_MAX_S)
    assert not breaker.admits(OPEN_S + TRIAL_MAX_S)


def test_late_failures_of_older_calls_do_not_prolong_it() -> None:
    breaker = opened(at=0.0)
    breaker.failed(20.0)

    assert breaker.admits(OPEN_S)


def test_a_late_answer_of_an_older_call_does_not_close_it() -> None:
    breaker = opened()
    breaker.succeeded()

    assert breaker.state is State.OPEN


def test_the_table_has_every_transition_but_impossible_ones() -> None:
    missing = {(state, event) for state in State for event in Event} - set(NEXT)

    assert missing == {(State.CLOSED, Event.RESTED), (State.HALF_OPEN, Event.RESTED)}


def test_its_repr_is_one_line_for_every_state() -> None:
    assert repr(Breaker()) == "Breaker(closed, 0/5 failures)"
    assert repr(opened(at=12.0)) == "Breaker(open, since 12.000)"
    assert repr(on_trial()) == "Breaker(half_open, trial since 30.000)"


@pytest.mark.parametrize(("state", "level"), [(State.CLOSED, 0), (State.HALF_OPEN, 1), (State.OPEN, 2)])
def test_states_have_the_numbers_of_the_metric(state: State, level: int) -> None:
    assert state.level == level


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["ask", "good", "bad", "lost"]),
        st.floats(min_value=0.0, max_value=40.0),
    ),
    max_size=80,
)


@given(STEPS)
def test_never_two_trials_at_once_and_never_one_too_early(steps: list[str | float]) -> None:
    breaker, now, trials, opened_at = Breaker(), 0.0, 0, 0.0
    for step in steps:
        before = breaker.state
        if isinstance(step, float):
            now += step
        elif step == "ask":
            admitted = breaker.admits(now)
            if before is State.OPEN and admitted:
                assert now >= opened_at + OPEN_S
                trials += 1
            assert admitted or before is not State.CLOSED
        elif step == "good":
            breaker.succeeded()
        elif step == "bad":
            breaker.failed(now)
        else:
            breaker.abandoned()
        if before is State.HALF_OPEN and breaker.state is not State.HALF_OPEN:
            trials -= 1
        if breaker.state is State.OPEN and before is not State.OPEN and step == "bad":
            opened_at = now
        assert trials == (breaker.state is State.HALF_OPEN)


def test_a_lost_trial_makes_nobody_wait() -> None:
    breaker = on_trial()

    assert breaker.opens_in(OPEN_S + TRIAL_MAX_S - 1) == TRIAL_WAIT_S
    assert breaker.opens_in(OPEN_S + TRIAL_MAX_S) == 0.0
