"""What is expected of a replica with too much to do, and of one without descriptors, in runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments import crowds
from chaos.experiments.crowds import CROWD_EXPERIMENTS, VICTIM
from tests.chaos.experiments.story import RunStory

NAMED = {one.name: one for one in CROWD_EXPERIMENTS}

Tell = Callable[[RunStory], object]


def held(name: str, story: RunStory) -> list[bool]:
    """Give what held of each expectation, in order."""
    return [one.holds for one in NAMED[name].expects(story.over())]


def gauge(story: RunStory, name: str, value: float) -> None:
    story.note(19.0, "gauge", VICTIM, name=name, label="", value=value)


def refuse(story: RunStory, took_s: float = 0.01) -> None:
    story.call(12.0, "error", took_s=took_s, status=503, code="overloaded", retry_after="1", gateway=VICTIM)


def crowd(story: RunStory) -> None:
    refuse(story)
    story.call(13.0, gateway=VICTIM)
    story.call(13.0, gateway="gw2")
    story.call(30.0, gateway=VICTIM)
    for _ in range(crowds.PROBES_MIN):
        story.note(14.0, "healthz", VICTIM, status=200)
    story.note(15.0, "sample", VICTIM, tasks=0, connections=9, upstream_open=9, buffered_bytes=0, inflight=9)
    gauge(story, crowds.PROBE_S, 0.02)
    gauge(story, crowds.REFUSAL_S, 1.0)


def test_a_crowd_that_is_refused_early_holds() -> None:
    story = RunStory()
    crowd(story)
    assert all(held("overload", story))


def late_refusal(story: RunStory) -> None:
    refuse(story, took_s=1.5)
    gauge(story, crowds.REFUSAL_S, 2.0)


def slow_probe(story: RunStory) -> None:
    gauge(story, crowds.PROBE_S, 1.2)


def unseen_probe(story: RunStory) -> None:
    story.note(14.0, "healthz", VICTIM, status=0)


def many_at_once(story: RunStory) -> None:
    story.note(15.0, "sample", VICTIM, tasks=0, connections=9, upstream_open=9, buffered_bytes=0, inflight=999)


@pytest.mark.parametrize(
    ("which", "tell"),
    [
        ({0}, late_refusal),
        ({1}, lambda story: story.call(13.0, "error", status=502, gateway=VICTIM)),
        ({1}, lambda story: story.call(13.0, "error", status=502, gateway="gw3")),
        ({2}, slow_probe),
        ({2}, unseen_probe),
        ({3}, many_at_once),
        ({3}, refuse),
        ({4}, lambda story: story.call(31.0, "error", status=503, gateway=VICTIM)),
    ],
    ids=["late", "taken", "elsewhere", "slow probe", "no probe", "too many", "uncounted", "after it"],
)
def test_each_broken_promise_of_a_crowd_is_found(which: set[int], tell: Tell) -> None:
    story = RunStory()
    crowd(story)
    tell(story)
    assert {nth for nth, holds in enumerate(held("overload", story)) if not holds} == which


def exhausted(story: RunStory, *, share: float = 0.03, waited_s: float = 7.2) -> None:
    gauge(story, crowds.CPU_SHARE, share)
    gauge(story, crowds.FREE_AGAIN, 20.0)
    story.call(13.0, gateway=VICTIM, took_s=waited_s)
    story.call(13.0, gateway="gw2")
    story.call(30.0, gateway=VICTIM)


def test_clients_that_wait_for_a_descriptor_and_are_answered_hold() -> None:
    story = RunStory()
    exhausted(story)
    assert all(held("no-descriptors", story))


@pytest.mark.parametrize(
    ("which", "tell"),
    [
        ({0}, lambda story: story.call(13.0, "refused", status=0, gateway=VICTIM)),
        ({0}, lambda story: story.call(13.0, "error", status=502, gateway=VICTIM, took_s=8.0)),
        ({3}, lambda story: story.call(13.0, "error", status=502, gateway="gw2")),
        ({4}, lambda story: story.call(30.0, "error", status=503, gateway=VICTIM)),
    ],
    ids=["lost", "not answered", "elsewhere", "after it"],
)
def test_each_broken_promise_without_descriptors_is_found(which: set[int], tell: Tell) -> None:
    story = RunStory()
    exhausted(story)
    tell(story)
    assert {nth for nth, holds in enumerate(held("no-descriptors", story)) if not holds} == which


def test_a_busy_loop_and_a_late_return_are_found() -> None:
    story = RunStory()
    exhausted(story, share=0.9, waited_s=9.5)
    assert held("no-descriptors", story) == [True, False, False, True, True]
