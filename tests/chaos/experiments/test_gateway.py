"""What is expected of replicas that leave, die and restart, in runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments.gateway import GATEWAY_EXPERIMENTS, STREAMS_MIN, VICTIM, failed_calls
from chaos.experiments.replicas import GONE_AFTER, SLOTS_BACK
from tests.chaos.experiments.story import RunStory

NAMED = {one.name: one for one in GATEWAY_EXPERIMENTS}

Tell = Callable[[RunStory], None]


def held(name: str, story: RunStory) -> list[bool]:
    """Give what held of each expectation, in order."""
    return [one.holds for one in NAMED[name].expects(story.over())]


def dead(story: RunStory, *, back_s: float = 14.8, gone_s: float = 0.2) -> None:
    """Tell of a replica that is gone with its calls, while others answer."""
    story.call(9.0, "cut", gateway=VICTIM, took_s=1.0)
    story.note(10.0, "host_crashed", VICTIM)
    story.call(11.0, gateway="gw1")
    story.call(11.0, "refused", gateway=VICTIM, status=0)
    for name, value in ((SLOTS_BACK, back_s), (GONE_AFTER, gone_s)):
        story.note(19.0, "gauge", VICTIM, name=name, label="", value=value)


@pytest.mark.parametrize("name", ["replica-killed", "replica-hurried"])
def test_a_death_that_went_as_promised_holds(name: str) -> None:
    story = RunStory()
    dead(story)
    assert all(held(name, story))


@pytest.mark.parametrize("name", ["replica-killed", "replica-hurried"])
@pytest.mark.parametrize(
    "tell",
    [
        lambda story: story.call(12.0, "error", status=502, gateway="gw1"),
        lambda story: story.call(12.0, "error", status=500, gateway=VICTIM),
        lambda story: story.call(9.5, "cut", gateway="gw3"),
    ],
    ids=["elsewhere", "after it is back", "elsewhere when it died"],
)
def test_a_call_that_fails_and_was_none_of_its_own_is_found(name: str, tell: Tell) -> None:
    story = RunStory()
    dead(story)
    tell(story)
    assert held(name, story)[0] is False


@pytest.mark.parametrize("name", ["replica-killed", "replica-hurried"])
def test_slots_that_are_back_too_late_are_found(name: str) -> None:
    story = RunStory()
    dead(story, back_s=16.1)
    assert held(name, story)[-1] is False


def test_whoever_waits_after_the_second_signal_is_found() -> None:
    story = RunStory()
    dead(story, gone_s=3.7)
    assert held("replica-hurried", story) == [True, False, True]


def leaves(story: RunStory, outcome: str = "done") -> None:
    story.booked(story.call(9.9, outcome, gateway=VICTIM, took_s=3.0))
    story.call(11.0, gateway="gw1")


def test_whoever_leaves_after_its_last_answer_holds() -> None:
    story = RunStory()
    leaves(story)
    assert held("replica-leaves", story) == [True, True]


def test_an_answer_that_is_cut_by_a_leaving_replica_is_found() -> None:
    story = RunStory()
    leaves(story, "error_event")
    assert held("replica-leaves", story)[0] is False


def test_a_last_call_that_is_booked_nowhere_is_found() -> None:
    story = RunStory()
    leaves(story)
    story.call(9.9, gateway=VICTIM, took_s=3.0)
    assert held("replica-leaves", story) == [True, False]


def rolls(story: RunStory, calls: int = STREAMS_MIN) -> None:
    for at, host in ((12.0, "gw1"), (15.0, "gw2")):
        for _ in range(calls):
            story.call(at - 1.0, gateway=host, took_s=2.0)
        story.note(at, "drain_begun", host)


def test_restarts_under_streams_of_which_none_fails_hold() -> None:
    story = RunStory()
    rolls(story)
    assert held("rolling-restart", story) == [True]


@pytest.mark.parametrize("at", [9.9, 13.0, 30.0])
def test_a_call_that_fails_in_a_restart_is_found(at: float) -> None:
    story = RunStory()
    rolls(story)
    story.call(at, "cut", took_s=1.0)
    assert held("rolling-restart", story) == [False]
    assert failed_calls(story.over()) == 1


def test_restarts_of_replicas_without_streams_prove_nothing() -> None:
    story = RunStory()
    rolls(story, STREAMS_MIN - 1)
    assert held("rolling-restart", story) == [False]
