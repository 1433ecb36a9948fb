"""Starts without Postgres, in stories."""

from collections.abc import Callable

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory

NAME = "postgres-away-at-start"


def started() -> RunStory:
    story = RunStory()
    for gateway in ("gw1", "gw2"):
        story.note(11.0, "host_up", gateway)
    story.call(13.0, by="node-0", gateway="gw1")
    story.ready(13.0, 200, "degraded", "gw1")
    story.ready(13.0, 503, "unready", "gw2")
    story.note(14.0, "healthz", "gw2", status=200)
    for gateway in ("gw1", "gw2", "gw3"):
        story.call(25.0, by="node-0", gateway=gateway)
    return story


def test_a_start_from_disk_and_one_that_waits_hold() -> None:
    assert failing(NAME, started().over()) == set()


@pytest.mark.parametrize(
    "tell",
    [
        lambda story: story.call(14.0, "error", status=503, code="auth_unavailable", gateway="gw1"),
        lambda story: story.ready(14.0, 503, "unready", "gw1"),
        lambda story: story.ready(14.0, 200, "ok", "gw2"),
        lambda story: story.note(15.0, "healthz", "gw2", status=0),
        lambda story: story.note(15.0, "host_up", "gw2"),
        lambda story: story.call(26.0, "error", status=503, code="auth_unavailable", gateway="gw2"),
    ],
)
def test_each_broken_promise_of_a_start_is_found(tell: Callable[[RunStory], None]) -> None:
    story = started()
    tell(story)
    assert len(failing(NAME, story.over())) == 1


def test_the_figure_counts_calls_that_fail_at_the_replica_with_a_file_alone() -> None:
    story = started()
    for gateway in ("gw1", "gw2"):
        story.call(14.0, "error", status=503, code="auth_unavailable", gateway=gateway)
    figure = EXPERIMENTS[NAME].figure
    assert figure is not None
    assert figure.of(story.over()) == 1.0
