"""What a coverage looks like, for people and for programs."""

import pytest

from sim.cli.coverage_table import coverage_as_json, failed, put_coverage
from sim.registry.coverage import ChaosRan, Ran, table
from sim.swarm import Tally

GOOD = ChaosRan("redis-down", passed=True, active=("FR1",), seen=("FR1",))
BAD = ChaosRan("redis-hung", passed=False, active=("FR8",), seen=("FR8",))
RUNS = [Ran("mine", passed=True, active=("FR1",), seen=("FR1",))]


def test_experiments_that_did_not_pass_are_named() -> None:
    assert failed([GOOD, BAD]) == ["redis-hung"]


def test_a_person_reads_which_experiment_proves_an_id(capsys: pytest.CaptureFixture[str]) -> None:
    put_coverage(table(RUNS, [GOOD, BAD]), Tally(), [GOOD, BAD])
    shown = capsys.readouterr().out
    line = next(line for line in shown.splitlines() if line.startswith("FR1 "))
    assert line.split()[-2:] == ["mine", "redis-down"]
    assert "1 of 58 ids that need it proven by a chaos test, in 2 experiments" in shown
    assert "did not pass, and so proves nothing: the experiment redis-hung" in shown
    assert "gap: FR8 (Redis accepts and never answers) is proven by no chaos test" in shown


def test_a_person_is_told_that_chaos_tests_were_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    put_coverage(table(RUNS), Tally(), ())
    shown = capsys.readouterr().out
    assert "chaos tests were not read: --chaos names the file of their rows" in shown
    assert "by no chaos test" not in shown


def test_a_program_reads_the_same() -> None:
    told = coverage_as_json(table(RUNS, [GOOD, BAD]), Tally(), [GOOD, BAD])
    rows = told["rows"]
    assert isinstance(rows, list)
    assert rows[0]["chaos"] == {"state": "proven", "due": "chaos", "by": ["redis-down"]}
    assert told["experiments_failed"] == ["redis-hung"]
