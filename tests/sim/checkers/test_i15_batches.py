"""I15: lines of batches, by facts of our choice."""

import pytest

from sim.checkers.i15_batches import check
from tests.sim.checkers.story import CLOUD, GATEWAY, Story

BATCH = "batch_1"


def stored(story: Story, line: int, claim: int = 1) -> Story:
    return story.note("line_stored", GATEWAY, batch=BATCH, line=line, claim=claim, end="done")


def over(story: Story, done: str, *, state: str = "completed", total: int = 2, completed: int = 2) -> Story:
    counts = {"total": total, "completed": completed, "failed": 0}
    return story.note("batch_over", "client", name="1", batch=BATCH, state=state, done=done, errors="", **counts)


def booked(story: Story, line: int, event: str) -> Story:
    return story.note(
        "usage",
        GATEWAY,
        event_id=event,
        request_id="r",
        target=CLOUD,
        node=None,
        status="ok",
        prompt_tokens=1,
        completion_tokens=1,
        estimated=False,
        batch=BATCH,
        line=line,
    )


def asked(story: Story, at: float, exchange: int) -> Story:
    return story.at(at).asked(exchange, CLOUD, call="batch1-1")


def told(story: Story, at: float, exchange: int) -> Story:
    return story.at(at).note(
        "told",
        CLOUD,
        exchange=exchange,
        target=CLOUD,
        call="batch1-1",
        how="whole",
        status=200,
        text="a",
        visible=True,
        finished=True,
    )


def found(story: Story) -> list[str]:
    return [violation.what for violation in check(story.journal)]


def begun() -> Story:
    return Story().note("host_up", GATEWAY)


def test_a_batch_whose_lines_were_stored_once_is_fine() -> None:
    assert found(over(stored(stored(begun(), 1), 2), "1 2")) == []


def test_a_second_result_is_found() -> None:
    (what,) = found(stored(stored(begun(), 1), 1, claim=2))
    assert "a second result of line 1" in what


def test_a_line_under_two_ids_is_found_and_one_that_came_again_is_fine() -> None:
    assert found(booked(booked(begun(), 1, "a"), 1, "a")) == []
    (what,) = found(booked(booked(begun(), 1, "a"), 1, "b"))
    assert "booked under two ids" in what


@pytest.mark.parametrize(
    ("done", "members", "what"),
    [
        ("1 1", {}, "two results of one line"),
        ("1", {}, "counts other results"),
        ("1 3", {}, "other results than were stored"),
        ("1 2", {"total": 3}, "lacks results"),
    ],
)
def test_what_a_client_reads_is_what_was_stored(done: str, members: dict[str, int], what: str) -> None:
    complaints = found(over(stored(stored(begun(), 1), 2), done, **members))  # type: ignore[arg-type]  # counts by name
    assert any(what in complaint for complaint in complaints)


def test_a_batch_that_is_not_complete_may_lack_results() -> None:
    assert found(over(stored(begun(), 1), "1", state="cancelled", completed=1)) == []


def test_a_line_that_begins_after_the_cancellation_is_found() -> None:
    story = begun().at(1.0).note("batch_cancelled", "client", name="1", batch=BATCH, status=200, code="")
    story.at(2.0).note("line_claimed", GATEWAY, batch=BATCH, line=1, claim=1)
    (what,) = found(story)
    assert "began after its cancellation" in what


def test_a_line_with_two_targets_at_once_is_found() -> None:
    (what,) = found(told(asked(asked(begun(), 1.0, 1), 2.0, 2), 5.0, 1))
    assert "while cloud-a still answered it" in what


def test_a_line_asked_again_afterwards_is_fine() -> None:
    assert found(asked(told(asked(begun(), 1.0, 1), 5.0, 1), 6.0, 2)) == []


def test_a_line_of_a_killed_replica_may_be_asked_again() -> None:
    story = asked(begun(), 1.0, 1).at(1.5).note("host_crashed", GATEWAY)
    assert found(told(asked(story, 2.0, 2), 5.0, 1)) == []


def test_a_batch_that_never_ends_is_found_when_the_world_is_over() -> None:
    story = begun().note("batch_made", "client", name="1", batch=BATCH)
    assert found(story) == []
    (what,) = found(story.note("host_stopped", GATEWAY, clean=True).phase("over"))
    assert "never ended for its client" in what
