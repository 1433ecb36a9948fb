"""What is expected of nonsense: each promise is broken once."""

from collections.abc import Callable

import pytest

from chaos.experiments.experiment import Broken
from chaos.experiments.memory import memory_grown_mb
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory
from tests.chaos.experiments.targets_story import met

Tell = Callable[[RunStory], object]


def memory(story: RunStory, at: float, megabytes: float) -> None:
    story.note(at, "gauge", "gw1", name="memory_peak_bytes", label="", value=megabytes * 1e6)


def strange(story: RunStory, *, grown_mb: float = 50.0, beside: str = "done") -> Broken:
    memory(story, 10.0, 100.0)
    told = ("malformed", "too_large", "encoded", "first_token_timeout")
    for nth, word in enumerate(told):
        met(story, 11.0 + nth, "FV9", "cloud-a", attempts=f"cloud-a:{word}, cloud-b:ok")
    story.call(16.0, beside, placement="nodes_only")
    memory(story, 20.0, 100.0 + grown_mb)
    return story.over()


def test_nonsense_that_is_bounded_and_told_apart_holds() -> None:
    assert failing("vendor-strange", strange(RunStory())) == set()


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (
            lambda story: met(story, 15.0, "FV9", "cloud-a", "cut"),
            "4 of 5 that met it are answered elsewhere or end in an error event",
        ),
        (lambda story: met(story, 15.0, "FV9", "cloud-a", took_s=20.0), "the longest takes 20.0 s"),
    ],
)
def test_each_broken_promise_about_nonsense_is_found(tell: Tell, text: str) -> None:
    story = RunStory()
    tell(story)
    assert failing("vendor-strange", strange(story)) == {text}


def test_a_replica_whose_memory_grows_without_bound_is_found() -> None:
    broken = strange(RunStory(), grown_mb=600.0)
    assert failing("vendor-strange", broken) == {"memory grows by 600 MB at most"}
    assert memory_grown_mb(broken) == pytest.approx(600.0)


def test_a_call_beside_that_fails_is_found() -> None:
    assert failing("vendor-strange", strange(RunStory(), beside="error")) == {
        "0 of 1 beside are answered, p90 of what is added +0.00 s"
    }


def test_a_kind_of_nonsense_that_was_not_told_apart_is_found() -> None:
    story = RunStory()
    memory(story, 10.0, 100.0)
    met(story, 11.0, "FV9", "cloud-a", attempts="cloud-a:malformed, cloud-b:ok")
    story.call(16.0, placement="nodes_only")
    assert failing("vendor-strange", story.over()) == {"not told apart: too_large, encoded, first_token_timeout"}
