"""Rates: a bucket of one minute's worth, never more; and waits that are true."""

import pytest

from sim.checkers.i3_limits import check
from tests.sim.checkers.limits_story import LimitsStory
from tests.sim.checkers.story import said


def story(name: str = "rpm", value: int = 2) -> LimitsStory:
    return LimitsStory().limited(name, value).at(100)


def test_as_many_calls_as_a_bucket_holds_are_right() -> None:
    assert said(check, story().used("a").used("b").at(131).used("c")) == []


def test_more_calls_than_a_bucket_holds_are_found() -> None:
    (what,) = said(check, story().used("a").used("b").used("c"))
    assert what == "3 rpm of key:k1 passed in 1.800 s, its limit is 2"


def test_a_call_that_was_given_back_makes_room() -> None:
    told = story().used("a").reserved("b").at(101.5).settled("b", 0, tokens=0).recorded("b")
    assert said(check, told.at(102).used("c")) == []


def test_tokens_that_were_not_used_make_room() -> None:
    told = story("tpm", 10).reserved("a", tokens=10).at(101).booked("a").settled("a", tokens=2).recorded("a")
    assert said(check, told.at(102).used("b", tokens=8)) == []
    assert len(said(check, told.at(103).used("c", tokens=9))) == 1


@pytest.mark.parametrize(("lasts_s", "found"), [(14.0, 0), (5.0, 1)])
def test_tokens_of_who_was_taken_for_dead_make_room(lasts_s: float, found: int) -> None:
    told = story("tpm", 10).reserved("a", tokens=10).at(101).fault("lag", "gw1", amount=lasts_s)
    assert len(said(check, told.at(112).used("b", tokens=8, host="gw2"))) == found


def test_a_store_that_forgot_begins_with_a_full_bucket() -> None:
    assert said(check, story().used("a").used("b").at(103).fault("redis_empty").at(104).used("c")) == []


def test_a_refusal_while_there_is_room_is_found() -> None:
    (what,) = said(check, story().used("a").at(102).refused("b", "requests", wait_ms=1000))
    assert what.startswith("gw1 refused b for 1.000 s")


def test_a_refusal_that_is_too_long_is_found() -> None:
    told = story().used("a").used("b").at(102)
    assert said(check, told.refused("c", "requests", wait_ms=28_000)) == []
    assert len(said(check, told.refused("d", "requests", wait_ms=30_000))) == 1


def test_who_comes_when_told_to_and_is_refused_again_is_found() -> None:
    told = story().used("a").used("b").at(102).refused("c", "requests", wait_ms=10_000)
    (what,) = said(check, told.at(113).refused("d", "requests", wait_ms=10_000))
    assert what == "gw1 refused d, which came alone when it was told to"


def test_who_comes_too_early_or_not_alone_may_be_refused_again() -> None:
    told = story().used("a").used("b").at(102).refused("c", "requests", wait_ms=28_000)
    assert said(check, told.at(120).refused("d", "requests", wait_ms=10_000)) == []
    told = story().used("a").used("b").at(102).refused("c", "requests", wait_ms=28_000)
    assert said(check, told.at(131).used("e").refused("d", "requests", wait_ms=28_000)) == []


def test_a_call_larger_than_its_bucket_is_refused_for_ever() -> None:
    assert said(check, story("tpm", 10).refused("a", "tokens", tokens=11, wait_ms=None)) == []
    (what,) = said(check, story("tpm", 10).refused("a", "tokens", tokens=9, wait_ms=None))
    assert what == "gw1 refused 9 tpm of 10 for ever"
