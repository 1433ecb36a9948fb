"""The world scripts."""

from sim.registry.due import Due
from sim.registry.scripts import SCRIPTS


def test_there_are_forty_scripts() -> None:
    assert list(SCRIPTS) == [f"S{number:02}" for number in range(1, 41)]


def test_scripts_of_what_is_built_are_due_now() -> None:
    due = [script.id for script in SCRIPTS.values() if script.due is Due.NOW]
    assert due == ["S11", "S12", "S13", "S16", "S30", "S31", "S33", "S38"]


def test_no_two_scripts_have_the_same_title() -> None:
    assert len({script.title for script in SCRIPTS.values()}) == 40
