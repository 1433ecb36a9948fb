"""What scenarios about targets must not see: nobody else asked, nothing booked, a client that saw a good end."""

import pytest

from sim.journal.journal import Journal
from tests.sim.scenarios.targets.worlds_made import (
    BY_ID,
    changed,
    doctored,
    ran,
    shown,
    without_help,
)

NAMES = sorted(BY_ID)

BROKEN_STREAMS = {"FV3", "FV4", "S12", "FV3-ports", "FV4-ports", "S12-ports", "S13"}
"""What they show is that nobody else is asked."""

PASSED_OVER = {"FV5", "FV6", "FV5-ports", "FV6-ports"}
"""What they show is that somebody is not asked, so another target is the first one that is."""


@pytest.mark.parametrize("name", sorted(set(NAMES) - BROKEN_STREAMS - PASSED_OVER))
def test_a_gateway_that_asks_nobody_else_does_not_show_it(name: str) -> None:
    assert shown(name, changed(name, 1, without_help)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_a_gateway_that_books_nothing_does_not_show_it(name: str) -> None:
    journal = ran(name, 0).journal
    silent = Journal(lambda: 0.0)
    silent.facts = [fact for fact in journal.facts if fact.kind not in ("usage", "record")]
    assert shown(name, silent) == set()


@pytest.mark.parametrize("name", sorted(BROKEN_STREAMS))
def test_a_client_that_saw_a_good_end_does_not_show_a_broken_stream(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "call_ended", outcome="done", code="")) == set()
