"""What is expected of vendors that stall, fail, limit and err inside of a 200: each promise is broken once."""

from collections.abc import Callable

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from chaos.experiments.experiment import Broken
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory
from tests.chaos.experiments.targets_story import asked, met, struck

Tell = Callable[[RunStory], object]


def figure_of(name: str, broken: Broken) -> float:
    figure = EXPERIMENTS[name].figure
    assert figure is not None
    return figure.of(broken)


# FV4


def stalled(story: RunStory, outcome: str = "error_event", took_s: float = 2.1, *, booked: bool = True) -> None:
    code = "stream_interrupted" if outcome == "error_event" else ""
    name = met(story, 12.0, "FV4", "cloud-a", outcome, took_s, code=code)
    if booked:
        story.booked(name, status="interrupted", completion_tokens=3)


def test_a_stream_that_stalls_and_ends_as_promised_holds() -> None:
    story = RunStory()
    stalled(story)
    story.call(13.0)
    assert failing("vendor-stalls", story.over()) == set()


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (lambda story: stalled(story, "done"), "1 of 2 end in an error event, 0 of 0 others well"),
        (lambda story: story.call(14.0, "error", status=502), "1 of 1 end in an error event, 0 of 1 others well"),
        (lambda story: stalled(story, took_s=12.0), "the longest of them takes 12.00 s"),
        (lambda story: stalled(story, booked=False), "what was delivered is booked of 1 of 2"),
    ],
)
def test_each_broken_promise_to_a_stream_that_stalls_is_found(tell: Tell, text: str) -> None:
    story = RunStory()
    stalled(story)
    tell(story)
    assert failing("vendor-stalls", story.over()) == {text}


def test_the_longest_stall_is_measured() -> None:
    story = RunStory()
    stalled(story, took_s=12.0)
    assert figure_of("vendor-stalls", story.over()) == pytest.approx(12.0)


# FV5, FV6


def turned(story: RunStory, at: float, state: int) -> None:
    story.note(at, "gauge", "gw1", name="breaker_state", label="cloud-a", value=state)


def broken_vendor(story: RunStory, *, trial_at: float = 40.6, trials: int = 1, used: bool = True) -> Broken:
    asked(story, 10.1, story.call(10.1), "cloud-a", status=500)
    turned(story, 10.5, 2)
    story.call(15.0)
    turned(story, trial_at, 1)
    for nth in range(trials):
        asked(story, trial_at + 0.01 * nth, story.call(trial_at + 0.01 * nth), "cloud-a", took_s=0.5)
    story.call(trial_at + 0.2)
    turned(story, trial_at + 0.5, 0)
    if used:
        asked(story, trial_at + 1.0, story.call(trial_at + 1.0), "cloud-a")
    return story.over(60.0)


def test_a_breaker_that_opens_and_lets_one_trial_through_holds() -> None:
    assert failing("vendor-breaks", broken_vendor(RunStory())) == set()


def test_a_vendor_that_is_asked_while_its_breaker_is_open_is_found() -> None:
    story = RunStory()
    asked(story, 20.0, story.call(20.0), "cloud-a", status=500)
    broken = broken_vendor(story)
    assert failing("vendor-breaks", broken) == {"1 of 1 breakers open, 1 calls are let through while they are"}


def test_a_call_that_nobody_answers_is_found() -> None:
    story = RunStory()
    story.call(16.0, "error", status=502)
    assert failing("vendor-breaks", broken_vendor(story)) == {"2 of 3 calls are answered by somebody"}


def test_a_stampede_of_trials_is_found() -> None:
    broken = broken_vendor(RunStory(), trials=3)
    assert failing("vendor-breaks", broken) == {"1 of 1 trials come after 30 s, 0 of 1 alone, 1 while others came"}
    assert figure_of("vendor-breaks", broken) == 3.0


def test_a_trial_that_comes_too_early_is_found() -> None:
    assert failing("vendor-breaks", broken_vendor(RunStory(), trial_at=38.0)) == {
        "0 of 1 trials come after 30 s, 1 of 1 alone, 1 while others came",
        "1 of 1 breakers open, 2 calls are let through while they are",
    }


def test_a_vendor_that_is_not_used_after_its_trial_is_found() -> None:
    assert failing("vendor-breaks", broken_vendor(RunStory(), used=False)) == {
        "0 of 1 vendors are used again after a good trial"
    }


# FV7


def limited(story: RunStory, at: float, by: str, key: str) -> None:
    name = story.call(at)
    asked(story, at, name, by, key=key, status=429)
    struck(story, at, name, "FV7", by)


def limits(story: RunStory, *, again: bool = True, other: bool = True) -> Broken:
    limited(story, 10.1, "cloud-b", "key-1")
    if other:
        asked(story, 12.0, story.call(12.0), "cloud-b", key="key-2")
    if again:
        asked(story, 14.5, story.call(14.5), "cloud-b", key="key-1")
    return story.over()


def test_a_key_that_rests_as_long_as_it_was_told_holds() -> None:
    assert failing("vendor-limits", limits(RunStory())) == set()


@pytest.mark.parametrize(
    ("tell", "text"),
    [
        (
            lambda story: asked(story, 13.0, story.call(13.0), "cloud-b"),
            "1 calls are asked of the 1 targets and keys that rest",
        ),
        (lambda story: story.call(15.0, "error", status=429), "3 of 4 calls are answered by somebody"),
        (
            lambda story: story.note(11.0, "gauge", "gw1", name="breaker_state", label="cloud-b", value=2),
            "breakers move 1 times",
        ),
    ],
)
def test_each_broken_promise_to_who_was_told_to_wait_is_found(tell: Tell, text: str) -> None:
    story = RunStory()
    tell(story)
    assert failing("vendor-limits", limits(story)) == {text}


def test_a_rest_that_never_ends_and_one_that_rests_too_much_are_found() -> None:
    assert failing("vendor-limits", limits(RunStory(), again=False)) == {"0 of 1 are used again then"}
    assert failing("vendor-limits", limits(RunStory(), other=False)) == {
        "0 calls use the other key of the same vendor meanwhile"
    }


# FV8


def means(story: RunStory) -> None:
    met(story, 11.0, "FV8", "cloud-a", attempts="cloud-a:429, cloud-b:ok")
    met(story, 12.0, "FV8", "cloud-b", attempts="cloud-b:500, cloud-c:ok")
    met(story, 13.0, "FV8", "cloud-c", "error", status=400, code="context_length_exceeded")


@pytest.mark.parametrize(
    ("tell", "texts"),
    [
        (lambda _: None, set()),
        (
            lambda story: met(story, 17.0, "FV8", "cloud-a", attempts="cloud-a:200"),
            {"1 of 2 that mean 429 go on to the next"},
        ),
        (
            lambda story: met(story, 14.0, "FV8", "cloud-b", "error", status=502, attempts="cloud-b:500"),
            {"1 of 2 that mean 500 go on to the next"},
        ),
        (
            lambda story: met(story, 14.0, "FV8", "cloud-c", "error", status=502),
            {"1 of 2 that mean 400 are told so"},
        ),
        (
            lambda story: asked(story, 14.0, story.call(14.0), "cloud-a"),
            {"1 calls use a key that rests after a 429"},
        ),
    ],
)
def test_an_error_inside_of_a_200_is_held_against_its_meaning(tell: Tell, texts: set[str]) -> None:
    story = RunStory()
    means(story)
    tell(story)
    assert failing("vendor-means", story.over()) == texts


def test_errors_that_were_taken_for_others_are_counted() -> None:
    story = RunStory()
    means(story)
    met(story, 14.0, "FV8", "cloud-c", "error", status=502)
    assert figure_of("vendor-means", story.over()) == 1.0
