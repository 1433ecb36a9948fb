"""What is expected of dollars and kept answers, in journals of runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments.money import CACHED, CLOSED, FULL, HALF, OPEN
from tests.chaos.experiments.story import RunStory
from tests.chaos.experiments.test_all_of_them import of

Tell = Callable[[RunStory], object]

PICOS = 1_000_000


def passed(story: RunStory, at: float, *, uncounted: bool, key: str = OPEN) -> None:
    story.booked(story.call(at, by="cloud-a", key=key), uncounted=uncounted)


def redis_is_down(story: RunStory) -> None:
    for at in (5.0, 25.0):
        passed(story, at, uncounted=False)
        story.call(at, by="cloud-a", key=CLOSED)
        story.call(at, key=CACHED, question="again-1")
    passed(story, 12.0, uncounted=True)
    story.call(12.0, "error", status=503, code="budget_unavailable", key=CLOSED)
    story.call(12.0, by="cloud-a", key=CACHED, question="again-2")
    first = story.call(25.0, by="cloud-a", key=CACHED, question="again-2")
    story.told(first, 25.1)
    story.call(26.0, key=CACHED, question="again-2")


def test_money_that_cannot_be_counted_went_as_promised() -> None:
    story = RunStory()
    redis_is_down(story)
    assert set(of("redis-down-money", story.over()).values()) == {True}


@pytest.mark.parametrize(
    ("name", "tell"),
    [
        ("FR2", lambda story: passed(story, 13.0, uncounted=False)),
        ("FR2", lambda story: passed(story, 26.0, uncounted=True)),
        ("FR2", lambda story: story.call(13.0, "error", status=503, code="budget_unavailable", key=OPEN)),
        ("FR3", lambda story: story.call(13.0, by="cloud-a", key=CLOSED)),
        ("FR3", lambda story: story.call(26.0, "error", status=503, code="budget_unavailable", key=CLOSED)),
        ("FR4", lambda story: story.call(13.0, key=CACHED, question="again-1")),
        ("FR4", lambda story: story.call(13.0, "error", status=503, key=CACHED)),
        ("FR4", lambda story: story.call(24.0, key=CACHED, question="again-2")),
    ],
)
def test_each_broken_promise_of_uncounted_money_is_found(name: str, tell: Tell) -> None:
    story = RunStory()
    redis_is_down(story)
    tell(story)
    assert [id_ for id_, holds in of("redis-down-money", story.over()).items() if not holds] == [name]


def redis_is_emptied(story: RunStory) -> None:
    story.booked(story.call(5.0, by="cloud-a", key=FULL), cost_picos=1_990 * PICOS, uncounted=False)
    story.booked(story.call(5.0, by="cloud-a", key=HALF), cost_picos=3_000 * PICOS, uncounted=False)
    story.call(9.5, "error", status=429, code="budget_exceeded", key=FULL)
    story.call(24.0, "error", status=429, code="budget_exceeded", key=FULL)
    story.booked(story.call(24.0, by="cloud-a", key=HALF), cost_picos=2_900 * PICOS, uncounted=False)


def test_money_that_was_forgotten_and_read_again_went_as_promised() -> None:
    story = RunStory()
    redis_is_emptied(story)
    assert of("redis-empty-money", story.over()) == {"FR11": True}


@pytest.mark.parametrize(
    "tell",
    [
        lambda story: story.booked(story.call(25.0, by="cloud-a", key=HALF), cost_picos=101 * PICOS),
        lambda story: story.booked(story.call(25.0, by="cloud-a", key=FULL), cost_picos=1 * PICOS),
        lambda story: story.booked(story.call(25.0, by="cloud-a", key=HALF), cost_picos=1, uncounted=True),
        lambda story: story.call(25.0, "error", status=503, code="budget_unavailable", key=FULL),
    ],
    ids=["beyond", "passed", "uncounted", "unavailable"],
)
def test_each_broken_promise_of_forgotten_money_is_found(tell: Tell) -> None:
    story = RunStory()
    redis_is_emptied(story)
    tell(story)
    assert of("redis-empty-money", story.over()) == {"FR11": False}
