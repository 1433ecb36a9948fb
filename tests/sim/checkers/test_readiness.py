"""What a replica tells a balancer of itself: never ready as it leaves, and ready when nothing is wrong."""

from collections.abc import Iterator

import pytest

from sim.checkers.readiness import check_readiness
from sim.checkers.violation import Violation
from sim.journal.journal import Journal
from sim.journal.watch import watch_of
from tests.sim.checkers.story import GATEWAY, Story, said


def check(journal: Journal) -> Iterator[Violation]:
    return check_readiness(watch_of(journal), journal)


def probed(story: Story, status: int) -> Story:
    return story.note("readyz", GATEWAY, status=status, ready=status == 200, state="", reasons="postgres_away")


def test_one_that_leaves_is_not_ready() -> None:
    leaving = Story().note("host_up", GATEWAY).at(40).note("drain_begun", GATEWAY).at(41)
    assert said(check, probed(leaving, 503)) == []
    assert said(check, probed(leaving, 200)) == [f"{GATEWAY} calls itself ready although it leaves"]


def test_one_that_is_frozen_has_not_heard_that_it_leaves() -> None:
    frozen = Story().note("host_up", GATEWAY).at(40).fault("lag", GATEWAY, amount=2.0).at(41)
    thawed = frozen.note("drain_begun", GATEWAY).at(42)
    assert said(check, probed(thawed, 200)) == []
    assert said(check, probed(thawed.at(42.2), 200)) == [f"{GATEWAY} calls itself ready although it leaves"]


def test_one_that_left_and_came_back_may_be_ready() -> None:
    story = Story().note("host_up", GATEWAY).at(40).note("drain_begun", GATEWAY).at(45)
    story = story.note("host_stopped", GATEWAY, clean=True).at(46).note("host_up", GATEWAY)
    assert said(check, probed(story.at(47), 200)) == []


def test_a_sound_one_is_ready() -> None:
    story = probed(Story().note("host_up", GATEWAY).at(60), 503)
    assert said(check, story) == [f"{GATEWAY} is not ready (postgres_away) although nothing is wrong"]


@pytest.mark.parametrize("status", [0, 200])
def test_no_answer_and_a_good_one_are_no_complaint(status: int) -> None:
    assert said(check, probed(Story().note("host_up", GATEWAY).at(60), status)) == []


def test_one_that_has_just_begun_may_be_unready() -> None:
    assert said(check, probed(Story().note("host_up", GATEWAY).at(3), 503)) == []


def test_one_whose_database_is_away_may_be_unready() -> None:
    story = Story().note("host_up", GATEWAY).at(50).fault("postgres_away", "").at(60)
    assert said(check, probed(story, 503)) == []


def test_one_whose_catalogue_does_not_compile_may_be_unready() -> None:
    story = Story().note("host_up", GATEWAY).at(50).note("catalogue_applied", "postgres", version=2, valid=False)
    assert said(check, probed(story.at(60), 503)) == []
