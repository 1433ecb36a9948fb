"""Rests of targets and keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.routing import cooldown
from ktms.domain.routing.cooldown import REST_DEFAULT_S, REST_MAX_S, Rests, rest_s


def test_nobody_rests_unless_told() -> None:
    rests = Rests()

    assert not rests.resting("openai/gpt", 0.0)
    assert rests.remaining_s("openai/gpt", 0.0) == 0.0


def test_a_rest_ends_by_itself() -> None:
    rests = Rests()
    rests.rest("openai/gpt", 10.0)

    assert rests.remaining_s("openai/gpt", 4.0) == 6.0
    assert rests.resting("openai/gpt", 9.9)
    assert not rests.resting("openai/gpt", 10.0)
    assert repr(rests) == "Rests(0)"


def test_others_go_on() -> None:
    rests = Rests()
    rests.rest("key-1", 10.0)

    assert not rests.resting("key-2", 0.0)


def test_a_longer_rest_stays() -> None:
    rests = Rests()
    rests.rest("key-1", 10.0)
    rests.rest("key-1", 3.0)

    assert rests.remaining_s("key-1", 0.0) == 10.0


def test_a_rest_may_be_prolonged() -> None:
    rests = Rests()
    rests.rest("key-1", 3.0)
    rests.rest("key-1", 10.0)

    assert rests.remaining_s("key-1", 0.0) == 10.0


def test_rests_are_bounded_the_one_that_ends_first_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooldown, "RESTS_MAX", 2)
    rests = Rests()
    rests.rest("a", 30.0)
    rests.rest("b", 10.0)
    rests.rest("b", 11.0)
    rests.rest("c", 20.0)

    assert [name for name in "abc" if rests.resting(name, 0.0)] == ["a", "c"]


@pytest.mark.parametrize(
    ("told_s", "seconds"), [(None, REST_DEFAULT_S), (0.0, 0.0), (2.5, 2.5), (86_400.0, REST_MAX_S)]
)
def test_how_long_is_what_was_told_within_bounds_or_the_default(told_s: float | None, seconds: float) -> None:
    assert rest_s(told_s) == seconds


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 100.0)), max_size=20), st.floats(0.0, 100.0))
def test_one_rests_until_the_latest_time_told(told: list[tuple[str, float]], now: float) -> None:
    rests = Rests()
    for name, until in told:
        rests.rest(name, until)

    for name in "abc":
        latest = max((until for one, until in told if one == name), default=0.0)
        assert rests.remaining_s(name, now) == pytest.approx(max(0.0, latest - now))
