"""Words and a batch while Postgres is away, in stories."""

import pytest

from chaos.experiments.all_of_them import EXPERIMENTS
from sim.journal.fact import Value
from tests.chaos.experiments.seen import failing
from tests.chaos.experiments.story import RunStory

NAME = "postgres-away-words"


def line(story: RunStory, number: int) -> None:
    asked: dict[str, Value] = {
        "exchange": 100 + number,
        "target": "node-0",
        "cloud": False,
        "model": "m",
        "gateway": "",
    }
    story.note(30.0, "asked", "node-0", call=f"batch1-{number}", **asked)


def away() -> RunStory:
    story = RunStory()
    story.note(10.0, "fault", fault="postgres_away", target="", on=True)
    story.call(12.0, "error", status=503, code="idempotency_unavailable", word="once-1")
    refused: dict[str, Value] = {"status": 503, "code": "idempotency_unavailable"}
    story.note(13.0, "batch_asked", "client", name="1", gateway="gw1", **refused)
    story.ready(14.0, 200, "degraded")
    story.ready(25.0, 503, "unready")
    story.call(25.0, "error", status=503, code="auth_unavailable")
    story.note(27.0, "fault", fault="postgres_away", target="", on=False)
    story.call(28.0, by="node-0", word="once-1")
    story.call(29.0, word="once-1")
    story.note(30.0, "batch_made", "client", name="1", batch="batch_1")
    for number in range(4):
        line(story, number)
    counts: dict[str, Value] = {"total": 4, "completed": 4, "failed": 0}
    story.note(
        31.0, "batch_over", "client", name="1", batch="batch_1", state="completed", done="", errors="", **counts
    )
    return story


def test_an_outage_in_which_nothing_is_started_holds() -> None:
    assert failing(NAME, away().over()) == set()


def test_a_call_that_is_begun_in_doubt_is_found_and_paid_twice() -> None:
    story = away()
    story.call(13.0, by="node-0", word="once-1")
    over, figure = story.over(), EXPERIMENTS[NAME].figure
    assert failing(NAME, over) == {
        "1 of 2 calls with a word are told so, 1 are begun",
        "0 of 1 words are paid once, 2 of 2 answered later",
    }
    assert figure is not None
    assert figure.of(over) == 1.0


def test_a_batch_that_is_made_in_doubt_is_found() -> None:
    story = away()
    story.note(13.5, "batch_asked", "client", name="1", gateway="gw1", status=200, code="")
    assert failing(NAME, story.over()) == {"1 of 2 batches are refused so"}


def test_a_line_that_is_run_twice_is_found() -> None:
    story = away()
    line(story, 0)
    assert failing(NAME, story.over()) == {"1 batch is made, 1 completed, 5 lines are asked for 4"}


@pytest.mark.parametrize(("at", "status"), [(13.0, 503), (25.5, 200)])
def test_a_replica_that_is_ready_when_it_must_not_or_is_not_when_it_must_is_found(at: float, status: int) -> None:
    story = away()
    story.ready(at, status)
    assert len(failing(NAME, story.over())) == 1


def test_a_call_that_is_let_in_after_the_window_is_found() -> None:
    story = away()
    story.call(25.0, by="node-0")
    assert failing(NAME, story.over()) == {"1 of 2 calls are then told to come back"}
