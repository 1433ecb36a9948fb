"""The world scripts."""

from sim.registry.due import Due
from sim.registry.scripts import SCRIPTS


def test_there_are_forty_scripts_of_the_research_and_seven_of_ours() -> None:
    assert list(SCRIPTS) == [f"S{number:02}" for number in range(1, 48)]


def test_scripts_of_what_is_built_are_due_now() -> None:
    due = [script.id for script in SCRIPTS.values() if script.due is Due.NOW]
    assert due == [
        *("S01", "S02", "S03", "S04", "S05", "S06", "S07", "S08", "S09", "S10"),
        *("S11", "S12", "S13", "S14", "S15", "S16", "S17", "S18"),
        *("S19", "S20", "S21", "S22", "S23", "S24", "S25", "S26"),
        *("S29", "S30", "S31", "S32", "S33", "S34", "S35", "S36", "S37", "S38", "S39"),
        *("S40", "S41", "S42", "S43", "S44", "S45", "S46", "S47"),
    ]


def test_no_two_scripts_have_the_same_title() -> None:
    assert len({script.title for script in SCRIPTS.values()}) == len(SCRIPTS)
