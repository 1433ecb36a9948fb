"""All judges together."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import sim.checkers
from sim.checkers.judges import CHECKERS, Checker, CheckerBroken, judge
from sim.checkers.violation import Violation
from sim.journal.journal import Journal
from tests.sim.checkers.story import Story


def test_there_is_one_checker_for_each_invariant() -> None:
    assert [checker.code for checker in CHECKERS] == [f"I{number}" for number in range(1, 16)]


def test_each_checker_has_a_file_of_its_own() -> None:
    folder = Path(next(iter(sim.checkers.__path__)))
    assert {path.stem.partition("_")[0].upper() for path in folder.glob("i[0-9]*_*.py")} == {
        checker.code for checker in CHECKERS
    }


def test_an_empty_journal_is_right() -> None:
    assert judge(Story().journal) == []


def test_an_ordinary_run_is_right() -> None:
    assert judge(Story().answered("1", exchange=1).answered("2", exchange=2).over().journal) == []


def test_violations_come_in_the_order_of_the_checkers() -> None:
    story = Story().answered().over()
    story.sent("2").ended("2", outcome="error", status=500, code="internal_error", text="")
    assert [(one.code, one.call) for one in judge(story.journal)] == [("I1", "2"), ("I9", "2")]


def test_a_violation_is_told_in_one_line() -> None:
    assert str(Violation("I5", 12.5, "cloud-a was asked twice", "7")) == (
        "I5 at 12.500 s, call 7: cloud-a was asked twice"
    )


def test_a_checker_that_throws_is_broken_and_no_violation() -> None:
    def check(journal: Journal) -> Iterator[Violation]:
        yield Violation("I99", 0.0, "before it broke")
        assert not journal.facts, "something unheard of"

    with pytest.raises(CheckerBroken, match="I99 is broken: AssertionError: something unheard of") as caught:
        judge(Story().over().journal, (Checker("I99", "a broken one", check),))
    assert caught.value.code == "I99"
