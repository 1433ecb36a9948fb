import pytest

from sim.cli.swarm_summary import marks_never, put_summary, summary_row
from sim.journal.marks import SOMETIMES
from sim.outcome_row import Told
from sim.swarm import Tally
from tests.sim.outcomes import SOUND, broke, failed


def tally_of(*told: Told) -> Tally:
    tally = Tally(stopped="failures")
    for each in told:
        tally.add(each)
    return tally


def test_a_failure_is_told_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    put_summary(tally_of(Told(SOUND), Told(failed(9, "I1 at 3 s: it never ended"))), 10.0, "abc", of_all=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == [
        "I1: 1 world:",
        "violated: I1 at 3 s: it never ended",
        failed(9).line("abc"),
    ]


def test_failures_are_told_before_the_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    put_summary(tally_of(Told(failed(9, "I1 x"))), 10.0, "abc", of_all=True)
    told = capsys.readouterr().out
    assert told.index("KTMS_SIM=") < told.index("faults met")


def test_every_failure_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    put_summary(tally_of(*(Told(failed(seed, "I1 x")) for seed in (1, 2, 3))), 10.0, "abc", of_all=True)
    assert capsys.readouterr().out.count("KTMS_SIM=abc") == 3


def test_a_swarm_without_worlds_has_a_summary_too(capsys: pytest.CaptureFixture[str]) -> None:
    put_summary(Tally(stopped="interrupted"), 0.1, "abc", of_all=True)
    assert "0 worlds (none)" in capsys.readouterr().out


def test_a_row_tells_the_code_of_each_failure() -> None:
    row = summary_row(tally_of(Told(broke(1, "Deadlock: nothing"))), 1, 10.0, "abc")
    assert [failure["code"] for failure in _failures(row)] == ["broken (Deadlock)"]


def test_marks_that_were_hit_are_not_named_as_missing() -> None:
    assert set(marks_never(tally_of(Told(SOUND)))) == SOMETIMES.keys() - {"call.retried"}


def _failures(row: dict[str, object]) -> list[dict[str, object]]:
    failures = row["failures"]
    assert isinstance(failures, list)
    return failures
