from dataclasses import replace

import pytest

from sim.edit import Edit
from sim.outcome import Outcome
from sim.replay_line import read_line
from tests.sim.outcomes import SOUND, broke, failed


def test_a_run_without_complaints_is_sound() -> None:
    assert SOUND.ok


@pytest.mark.parametrize("outcome", [failed(1, "I1 at 3 s: it never ended"), broke(1, "Deadlock: nothing")])
def test_a_violation_and_a_broken_world_are_not_sound(outcome: Outcome) -> None:
    assert not outcome.ok


def test_the_line_of_a_run_has_everything_that_replays_it() -> None:
    assert SOUND.line("abc123+") == ("KTMS_SIM=abc123+ seed=7 scenario=explore-ports plan=- hash=0123456789abcdef")


def test_the_line_of_an_edited_run_gives_its_edit_back() -> None:
    edit = Edit(faults=(), calls=(1, 3), noise=0.0)
    assert read_line(replace(SOUND, edit=edit).line("abc")).edit == edit
