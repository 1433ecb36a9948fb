from dataclasses import replace

import pytest

from sim.cli.verdict import code_of, put_outcome
from sim.outcome import Outcome
from tests.sim.outcomes import SOUND, broke, failed

DEADLOCK = "Deadlock: nothing can ever run again, at 1003.5; tasks:\n  gw1#1 serve: relay.py:12 pour"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (SOUND, 0),
        (failed(1, "I1 x"), 1),
        (broke(1, DEADLOCK), 3),
        (replace(failed(1, "I1 x"), broken=DEADLOCK), 3),
    ],
)
def test_the_exit_code_tells_a_violation_from_a_broken_world(outcome: Outcome, code: int) -> None:
    assert code_of(outcome) == code


def test_every_violation_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    put_outcome(failed(1, "I1 x", "I4 y"), "abc")
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("violated: ")] == [
        "violated: I1 x",
        "violated: I4 y",
    ]


def test_a_deadlock_is_shown_with_its_waiting_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    put_outcome(broke(1, DEADLOCK), "abc")
    assert "  gw1#1 serve: relay.py:12 pour\n" in capsys.readouterr().out


def test_the_last_word_on_a_failure_is_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    put_outcome(broke(1, DEADLOCK), "abc")
    assert capsys.readouterr().out.splitlines()[-1] == broke(1, DEADLOCK).line("abc")


def test_text_out_of_a_world_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    put_outcome(failed(1, "I1 \x1b[2Jgone"), "abc")
    assert "\x1b" not in capsys.readouterr().out
