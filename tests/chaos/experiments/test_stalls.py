"""What is expected of a loop that stands still, in runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments.stalls import BODIES, FED, STALL_EXPERIMENTS, STALLS, STOPPED
from chaos.traffic.question import Question
from tests.chaos.experiments.story import RunStory

(EXPERIMENT,) = STALL_EXPERIMENTS

Tell = Callable[[RunStory], object]


def held(story: RunStory) -> list[bool]:
    """Give what held of each expectation, in order."""
    return [one.holds for one in EXPERIMENT.expects(story.over())]


def loop(story: RunStory, at: float, host: str, *, lag_s: float, blocked: int) -> None:
    for name, value in (("loop_lag_s", lag_s), ("loop_blocked", blocked)):
        story.note(at, "gauge", host, name=name, label="", value=value)


def stalled(story: RunStory, *, blocked: int = STALLS, lag_s: float = 0.52, fed_s: float = 0.05) -> None:
    loop(story, 5.0, STOPPED, lag_s=0.6, blocked=1)
    for at in (11.0, 12.0):
        story.note(at, "fault", fault="lag", target=STOPPED, on=True, amount=0.52)
    story.note(13.0, "log", STOPPED, level="warning", name="loop_blocked", text="seconds=0.5")
    for number in range(BODIES):
        story.call(14.0, gateway=FED, named=f"large-{number}")
    loop(story, 19.0, STOPPED, lag_s=lag_s, blocked=1 + blocked)
    loop(story, 19.0, FED, lag_s=fed_s, blocked=0)


def test_stalls_that_are_counted_and_shown_hold() -> None:
    story = RunStory()
    stalled(story)
    assert all(held(story))


@pytest.mark.parametrize(
    ("nth", "blocked", "lag_s", "fed_s"),
    [(0, STALLS - 1, 0.5, 0.05), (0, STALLS, 0.2, 0.05), (3, STALLS, 0.5, 0.3)],
)
def test_a_figure_that_is_not_as_it_was_is_found(nth: int, blocked: int, lag_s: float, fed_s: float) -> None:
    story = RunStory()
    stalled(story, blocked=blocked, lag_s=lag_s, fed_s=fed_s)
    assert [number for number, holds in enumerate(held(story)) if not holds] == [nth]


def test_who_is_refused_for_a_stall_is_found() -> None:
    story = RunStory()
    stalled(story)
    story.call(15.0, "error", status=503, code="overloaded", gateway=STOPPED)
    assert held(story) == [True, False, False, True]


def test_a_question_after_many_turns_is_large() -> None:
    messages = Question("1", "gw1", "app-1", turns=3).body()["messages"]
    assert isinstance(messages, list)
    assert len(messages) == 4
