"""Little's law by hand, progress of running answers, and the patience of a call over its chain."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.wait_forecast import (
    ENDLESS,
    HELD_BACK_MAX_S,
    HOLDING_UNKNOWN_S,
    INTERACTIVE_WAIT_MAX_S,
    SAMPLES_MAX,
    SAMPLES_MIN,
    Calibration,
    HoldingTimes,
    Patience,
    forecast_s,
    held_back_s,
    sharpened_s,
)


def holding(*seconds: float) -> HoldingTimes:
    times = HoldingTimes()
    for one in seconds:
        times.take(one)
    return times


@pytest.mark.parametrize(("depth", "slots", "seconds"), [(1, 1, 8), (1, 4, 2), (3, 2, 12), (8, 4, 16)])
def test_the_forecast_is_littles_law(depth: int, slots: int, seconds: float) -> None:
    assert forecast_s(depth=depth, holding_s=8, slots=slots) == seconds


def test_without_slots_nobody_ever_gets_one() -> None:
    assert forecast_s(depth=1, holding_s=8, slots=0) == math.inf


def test_few_samples_count_as_none() -> None:
    assert holding(*[1.0] * (SAMPLES_MIN - 1)).mean_s == HOLDING_UNKNOWN_S


def test_enough_samples_give_their_mean() -> None:
    assert holding(1, 2, 3, 4, 5).mean_s == 3


def test_old_samples_are_forgotten() -> None:
    assert holding(*[1000.0] * 10, *[2.0] * SAMPLES_MAX).mean_s == pytest.approx(2)


def test_what_is_left_of_a_slot_is_the_mean_of_those_held_longer() -> None:
    assert holding(1, 2, 3, 10, 14).left_s(5) == 7


def test_a_slot_that_outlives_all_others_is_given_half_a_mean() -> None:
    assert holding(2, 2, 2, 2, 2).left_s(9) == 1


@pytest.mark.parametrize(("held_s", "left_s"), [(0, 10), (4, 6), (30, 5)])
def test_what_is_left_is_assumed_while_nothing_is_known(held_s: float, left_s: float) -> None:
    assert holding().left_s(held_s) == left_s


def test_the_next_in_line_waits_for_the_slot_that_ends_first() -> None:
    assert sharpened_s(depth=1, holding_s=8, left_s=[5, 1, 7]) == 1


def test_those_ahead_hold_the_slots_that_come_free_first() -> None:
    assert sharpened_s(depth=3, holding_s=8, left_s=[5, 1]) == 9


def test_far_down_the_line_progress_no_longer_matters() -> None:
    assert sharpened_s(depth=100, holding_s=8, left_s=[0.1, 0.1]) == forecast_s(depth=100, holding_s=8, slots=2)


def test_a_call_may_wait_the_timeout_of_its_model() -> None:
    assert Patience(interactive=False, queue_timeouts_ms=[2000]).limit_s(2000) == 2


def test_a_chain_waits_at_most_twice_its_largest_timeout() -> None:
    patience = Patience(interactive=False, queue_timeouts_ms=[2000, 500, 1000])
    patience.used(2)
    assert patience.limit_s(2000) == 2
    patience.used(1.5)
    assert patience.limit_s(1000) == 0.5
    patience.used(9)
    assert patience.limit_s(1000) == 0


def test_a_person_waits_a_quarter_of_a_second_for_all_models_together() -> None:
    patience = Patience(interactive=True, queue_timeouts_ms=[2000, 100])
    assert (patience.limit_s(2000), patience.limit_s(100)) == (INTERACTIVE_WAIT_MAX_S, 0.1)
    patience.used(0.2)
    assert patience.limit_s(2000) == pytest.approx(0.05)


def test_a_call_without_local_models_waits_for_none() -> None:
    assert Patience(interactive=False, queue_timeouts_ms=[]).limit_s(2000) == 0


def test_the_calibration_is_the_mean_relative_error() -> None:
    calibration = Calibration()
    calibration.take(1, 2)
    calibration.take(3, 2)
    assert (calibration.error, calibration.samples) == (0.5, 2)


def test_a_wait_of_no_length_tells_nothing_about_forecasts() -> None:
    calibration = Calibration()
    calibration.take(1, 0)
    calibration.take(math.inf, 1)
    assert (calibration.error, calibration.samples) == (None, 0)


def test_what_is_kept_shows_itself() -> None:
    shown = [repr(holding()), repr(Patience(interactive=True, queue_timeouts_ms=[])), repr(Calibration())]
    assert shown == [
        "HoldingTimes(10.000, samples=0)",
        "Patience(left_s=0.250, interactive=True)",
        "Calibration(None, samples=0)",
    ]


def test_who_has_just_come_is_held_back_the_longest() -> None:
    assert held_back_s(waited_s=0.0, limit_s=2.0) == HELD_BACK_MAX_S


@given(
    first=st.floats(0, 10, allow_nan=False), later=st.floats(0, 10, allow_nan=False), limit_s=st.floats(0.01, 10)
)
def test_who_has_waited_longer_is_held_back_no_longer(first: float, later: float, limit_s: float) -> None:
    longer, shorter = max(first, later), min(first, later)
    assert held_back_s(waited_s=longer, limit_s=limit_s) <= held_back_s(waited_s=shorter, limit_s=limit_s)
    assert 0.0 <= held_back_s(waited_s=longer, limit_s=limit_s) <= HELD_BACK_MAX_S


def test_who_has_no_patience_left_is_not_held_back() -> None:
    assert held_back_s(waited_s=3.0, limit_s=2.0) == held_back_s(waited_s=0.0, limit_s=0.0) == 0.0


def test_a_line_of_a_batch_waits_as_long_as_it_takes() -> None:
    ENDLESS.used(1e6)

    assert ENDLESS.limit_s(0) == math.inf
