"""I14: every usage event is in the ledger once, or counted as lost; books by sets of ids."""

import pytest

from sim.checkers.i14_ledger import check
from tests.sim.checkers.story import GATEWAY, Story


def usage(story: Story, name: str) -> Story:
    return story.note(
        "usage",
        GATEWAY,
        event_id=name,
        request_id="r",
        target="cloud-a",
        node=None,
        status="ok",
        prompt_tokens=1,
        completion_tokens=1,
        estimated=False,
    )


def kept(story: Story, ids: str, rows: int, fresh: int = 0) -> Story:
    return story.note("usage_kept", "ledger", sender=GATEWAY, ids=ids, fresh=fresh, rows=rows)


def begun() -> Story:
    return Story().note("host_up", GATEWAY)


def over(story: Story) -> Story:
    return story.note("host_stopped", GATEWAY, clean=True).note("phase", "world", name="over")


def found(story: Story) -> list[str]:
    return [violation.what for violation in check(story.journal)]


def test_an_event_that_was_recorded_and_kept_is_fine() -> None:
    assert found(over(kept(usage(begun(), "a"), "a", 1))) == []


def test_an_event_that_came_again_and_made_no_row_is_fine() -> None:
    story = kept(kept(usage(begun(), "a"), "a", 1), "a", 1)
    assert found(over(story)) == []


def test_an_event_that_is_nowhere_is_missed() -> None:
    (what,) = found(over(usage(begun(), "a")))
    assert "neither in the ledger nor counted" in what


def test_nothing_is_missed_before_the_end() -> None:
    assert found(usage(begun(), "a")) == []


def test_a_row_too_many_is_a_doubled_event() -> None:
    story = kept(kept(usage(begun(), "a"), "a", 1), "a", 2)
    assert found(over(story)) == ["the ledger has 2 rows of 1 events"]


def test_a_row_of_an_event_that_nobody_recorded_is_seen() -> None:
    assert found(over(kept(begun(), "ghost", 1))) == ["nobody recorded the usage event ghost"]


def test_a_lost_event_that_was_counted_is_fine() -> None:
    story = usage(begun(), "a").note("usage_dropped", GATEWAY, ids="a")
    assert found(over(story.note("counted", GATEWAY, name="usage_dropped", amount=1))) == []


@pytest.mark.parametrize("amount", [0, 2])
def test_a_lost_event_that_was_counted_wrongly_is_seen(amount: int) -> None:
    story = usage(begun(), "a").note("usage_dropped", GATEWAY, ids="a")
    (what,) = found(over(story.note("counted", GATEWAY, name="usage_dropped", amount=amount)))
    assert f"lost 1 usage events and counted {amount}" in what


def test_what_a_killed_process_held_in_memory_is_gone() -> None:
    story = usage(begun(), "a").at(1).note("host_crashed", GATEWAY)
    assert found(over(story)) == []


def test_what_a_killed_process_had_on_disk_must_come() -> None:
    story = (
        usage(begun().note("setting", "world", name="spool", value=True), "a").at(1).note("host_crashed", GATEWAY)
    )
    assert len(found(over(story))) == 1
