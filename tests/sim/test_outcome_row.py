import json

import pytest

from sim.journal.fact import Fact
from sim.outcome import Outcome
from sim.outcome_row import Told, faults_met, first_code, read_told, row_of, write_told
from tests.sim.outcomes import SOUND, broke, failed


def fault(kind: str, *, on: bool) -> Fact:
    return Fact(0.0, "fault", "world", {"fault": kind, "target": "", "on": on})


def test_what_a_process_tells_comes_back_whole() -> None:
    told = Told(failed(3, "I1 at 3 s: it never ended"), {"silent": 2})
    assert read_told(write_told(told, "abc")) == told


def test_what_a_process_tells_is_one_line() -> None:
    assert "\n" not in write_told(Told(broke(1, "Deadlock: nothing\n  gw1 task 3")), "abc")


def test_a_row_has_what_programs_need() -> None:
    row = row_of(SOUND, "abc")
    assert row.keys() >= {"seed", "hash", "ok", "violations", "simulated_s", "wall_s", "scenario", "plan", "line"}


def test_a_row_is_plain_json() -> None:
    row = row_of(SOUND, "abc")
    assert json.loads(json.dumps(row)) == row


def test_faults_are_counted_as_they_begin() -> None:
    facts = [fault("silent", on=True), fault("silent", on=False), fault("cut", on=True), fault("silent", on=True)]
    assert faults_met(facts) == {"silent": 2, "cut": 1}


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (SOUND, ""),
        (failed(1, "I1 at 3 s: it never ended", "I2 at 4 s: x"), "I1"),
        (failed(1, "FV3: the fault was never active"), "FV3"),
        (broke(1, "Deadlock: nothing can ever run again, at 1003.5; tasks:\n  gw1 x"), "broken (Deadlock)"),
        (broke(1, "the world broke: KeyError('a') at world.py:3 f"), "broken (KeyError)"),
        (broke(1, "hung: no end within 60 s\nTimeout (0:01:00)!"), "hung"),
        (broke(1, "the checker of I3 is broken: KeyError: 'x'"), "broken (the checker of I3 is broken: KeyError)"),
    ],
)
def test_the_code_of_a_failure_has_nothing_that_differs_from_run_to_run(outcome: Outcome, code: str) -> None:
    assert first_code(outcome) == code
