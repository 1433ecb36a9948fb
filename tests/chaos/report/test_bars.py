"""Bars as a table."""

from chaos.experiments.bars import BARS
from chaos.experiments.conduct import Result
from chaos.experiments.experiment import Expected
from chaos.report.bars import bar_lines, bars_as_json
from tests.chaos.experiments.story import RunStory

BAR = BARS["rolling-restart"]
MET = Expected("FG1", holds=True, text="0 calls fail: 0 of 400")
MISSED = Expected("FG1", holds=False, text="0 calls fail: 3 of 400")


def result(expected: Expected, felt: int = BAR.felt_min) -> Result:
    return Result(BAR, RunStory().over(), felt, (expected,), ())


def test_a_line_says_the_bar_what_was_measured_and_whether_it_was_met() -> None:
    head, met = bar_lines([result(MET)])
    assert head.split() == ["experiment", "bar", "measured", "met"]
    assert met.split("  ") == ["rolling-restart", "0 calls fail", "0 of 400", "yes"]


def test_a_bar_that_was_missed_stands_out() -> None:
    _, missed, complaint = bar_lines([result(MISSED)])
    assert missed.endswith("NO")
    assert complaint == "  ! rolling-restart: FG1: 0 calls fail: 3 of 400"


def test_a_run_that_nobody_felt_meets_nothing() -> None:
    assert [one["met"] for one in bars_as_json([result(MET), result(MET, felt=0)])] == [True, False]
