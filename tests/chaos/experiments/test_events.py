"""What is expected of usage events, in journals of runs that never were."""

from collections.abc import Callable

import pytest

from chaos.experiments import events
from chaos.experiments.events import FORGETFUL, KEEPING, MIDWAY, VICTIM
from tests.chaos.experiments.story import RunStory
from tests.chaos.experiments.test_all_of_them import of

Tell = Callable[[RunStory], object]


def nothing(_story: RunStory) -> None:
    """Nothing goes wrong."""


def answered(story: RunStory, at: float, gateway: str, *, rows: int = 1) -> None:
    name = story.call(at, by="cloud-a", gateway=gateway)
    for row in range(rows):
        story.booked(name, event_id=f"{name}-{row}")


def events_pile_up(story: RunStory) -> None:
    for gateway, lost in ((KEEPING, 0), (FORGETFUL, 2)):
        answered(story, 11.0, gateway)
        for number in range(events.MEMORY_EVENTS + 1):
            answered(story, 12.0 + number / 10_000, gateway, rows=int(number >= lost))
    story.note(30.0, "usage_lost", FORGETFUL, amount=2.0)


def test_events_that_piled_up_went_as_promised() -> None:
    story = RunStory()
    events_pile_up(story)
    assert of("events-pile-up", story.over()) == {"FL2": True}


@pytest.mark.parametrize(
    "tell",
    [
        lambda story: answered(story, 15.0, KEEPING, rows=0),
        lambda story: answered(story, 11.5, FORGETFUL, rows=0),
        lambda story: story.note(31.0, "usage_lost", FORGETFUL, amount=1.0),
    ],
    ids=["of-the-spool", "uncounted", "counted-only"],
)
def test_each_broken_promise_of_a_full_memory_is_found(tell: Tell) -> None:
    story = RunStory()
    events_pile_up(story)
    tell(story)
    assert of("events-pile-up", story.over()) == {"FL2": False}


def test_newer_events_that_went_before_older_ones_are_found() -> None:
    story = RunStory()
    events_pile_up(story)
    answered(story, 15.0, FORGETFUL, rows=0)
    story.note(31.0, "usage_lost", FORGETFUL, amount=1.0)
    assert of("events-pile-up", story.over()) == {"FL2": False}


def events_come_again(story: RunStory) -> None:
    answered(story, 12.0, "gw1")
    for at in (13.0, 14.0, 15.0):
        story.note(at, "mark", name=MIDWAY)


@pytest.mark.parametrize(
    ("tell", "holds"),
    [
        (nothing, True),
        (lambda story: answered(story, 16.0, "gw1", rows=2), False),
        (lambda story: answered(story, 16.0, "gw1", rows=0), False),
        (lambda story: story.note(16.0, "mark", name=MIDWAY), False),
    ],
    ids=["once", "twice", "never", "kills"],
)
def test_each_event_must_have_one_row_after_three_deaths(tell: Tell, *, holds: bool) -> None:
    story = RunStory()
    events_come_again(story)
    tell(story)
    assert of("events-come-again", story.over()) == {"FL5": holds}


@pytest.mark.parametrize(("rows", "holds"), [(1, True), (0, False), (2, False)])
def test_each_call_before_a_kill_must_have_one_row(rows: int, *, holds: bool) -> None:
    story = RunStory()
    answered(story, 12.0, VICTIM, rows=rows)
    story.note(14.0, "host_crashed", VICTIM)
    assert of("events-of-the-dead", story.over()) == {"FL6": holds}
