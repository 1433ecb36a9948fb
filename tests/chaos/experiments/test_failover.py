"""Applies that are cut in their middle, in stories."""

from chaos.experiments.all_of_them import EXPERIMENTS
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory

NAME = "apply-cut"


def applied(story: RunStory, name: str, code: int, stored: int) -> None:
    story.note(12.0, "gauge", name="apply_code", label=name, value=code)
    story.note(12.0, "gauge", name="apply_stored", label=name, value=stored)


def test_applies_that_are_stored_wholly_or_not_at_all_hold() -> None:
    story = RunStory()
    applied(story, "session-ended", 1, 0)
    applied(story, "server-killed", 1, 0)
    applied(story, "undisturbed", 0, 3)
    story.call(13.0, by="node-0")
    assert failing(NAME, story.over()) == set()


def test_half_of_an_apply_and_a_failure_that_is_not_reported_are_found() -> None:
    story = RunStory()
    applied(story, "session-ended", 1, 2)
    applied(story, "server-killed", 0, 0)
    applied(story, "undisturbed", 0, 2)
    story.call(13.0, "error", status=503, code="auth_unavailable")
    over, figure = story.over(), EXPERIMENTS[NAME].figure
    assert len(failing(NAME, over)) == 4
    assert figure is not None
    assert figure.of(over) == 2.0
