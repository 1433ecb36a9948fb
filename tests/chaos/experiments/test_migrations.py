"""What is expected of two migrations at once, in runs that never were."""

import pytest

from chaos.experiments.migrations import AT_ONCE, HOST, KILLED, MIGRATION_EXPERIMENTS
from tests.chaos.experiments.story import RunStory

(EXPERIMENT,) = MIGRATION_EXPERIMENTS

FILES = 12

AS_PROMISED = {
    (AT_ONCE, "holder", "code"): 0,
    (AT_ONCE, "holder", "files"): FILES,
    (AT_ONCE, "other", "code"): 0,
    (AT_ONCE, "other", "files"): 0,
    (AT_ONCE, "other", "waited"): 1,
    (AT_ONCE, "", "applied"): FILES,
    (KILLED, "holder", "code"): -9,
    (KILLED, "other", "code"): 0,
    (KILLED, "other", "files"): FILES,
    (KILLED, "other", "waited"): 1,
    (KILLED, "", "applied"): FILES,
}

Key = tuple[str, str, str]


def migrated(**changed: int) -> RunStory:
    """Tell of both stories; what is changed is named `story role what`, joined by underscores."""
    story = RunStory()
    story.call(12.0)
    for (name, role, what), value in AS_PROMISED.items():
        told = changed.get(f"{name}_{role}_{what}", value)
        story.note(15.0, "gauge", HOST, name=f"{name}_{what}", label=role, value=told)
    return story


def held(story: RunStory) -> list[bool]:
    """Give what held of each expectation, in order."""
    return [one.holds for one in EXPERIMENT.expects(story.over())]


def test_one_that_applies_and_one_that_waits_hold() -> None:
    assert all(held(migrated()))


@pytest.mark.parametrize(
    ("nth", "name", "value"),
    [
        (0, "at_once_holder_code", 1),
        (0, "at_once_holder_files", FILES - 1),
        (1, "at_once_other_files", 1),
        (1, "at_once_other_waited", 0),
        (2, "holder_killed_other_code", 1),
        (2, "holder_killed_holder_code", 0),
    ],
)
def test_each_broken_promise_is_found(nth: int, name: str, value: int) -> None:
    assert [number for number, holds in enumerate(held(migrated(**{name: value}))) if not holds] == [nth]


def test_a_call_that_fails_beside_is_found() -> None:
    story = migrated()
    story.call(16.0, "error", status=503)
    assert held(story)[-1] is False


def test_runners_that_failed_are_the_figure_and_killed_ones_are_not() -> None:
    assert EXPERIMENT.figure is not None
    assert EXPERIMENT.figure.of(migrated().over()) == 0
    assert EXPERIMENT.figure.of(migrated(at_once_other_code=1).over()) == 1
