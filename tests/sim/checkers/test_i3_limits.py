"""I3: no more is admitted than a limit allows."""

from sim.checkers.i3_limits import check
from tests.sim.checkers.story import Story, said


def two_at_once() -> Story:
    story = Story().sent("1").begun("1").at(1).sent("2").begun("2")
    return story.at(5).ended("1").ended("2")


def test_without_limits_there_is_nothing_to_break() -> None:
    assert said(check, two_at_once()) == []


def test_as_many_as_the_limit_are_right() -> None:
    assert said(check, two_at_once().setting("limit:concurrency:app", 2)) == []


def test_one_more_than_the_limit_is_found() -> None:
    story = two_at_once().setting("limit:concurrency:app", 1)
    assert said(check, story) == ["2 calls of key app at once, its limit is 1"]


def test_limits_are_skipped_while_redis_is_away() -> None:
    story = Story().fault("redis_away")
    story.sent("1").begun("1").at(1).sent("2").begun("2").at(5).ended("1").ended("2")
    assert said(check, story.setting("limit:concurrency:app", 1)) == []
