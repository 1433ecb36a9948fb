"""The breaker scenarios are not blind."""

from dataclasses import replace

import pytest

from sim.draft import Draft
from sim.scenarios.targets.breakers import OPEN_S, failed_in_a_row
from tests.sim.scenarios.targets.worlds_made import changed, doctored, longer, ran, shown, with_fact

BOTH = pytest.mark.parametrize("level", ["", "-ports"])


def _healed_soon(draft: Draft) -> Draft:
    """Too few calls meet the fault to open anything."""
    return replace(draft, faults=tuple(replace(fault, lasts_s=0.4) for fault in draft.faults))


@BOTH
@pytest.mark.parametrize("name", ["FV5", "FV6"])
def test_a_fault_that_few_calls_meet_shows_nothing(name: str, level: str) -> None:
    journal = changed(name + level, 1, _healed_soon)
    assert (shown(name + level, journal), list(failed_in_a_row(journal))) == (set(), [])


@BOTH
@pytest.mark.parametrize("name", ["FV5", "FV6"])
def test_a_record_that_does_not_say_open_shows_nothing(name: str, level: str) -> None:
    journal = ran(name + level, 1).journal
    told = doctored(journal, "record", attempts="cloud-a/=resting|cloud-b/=ok")
    assert shown(name + level, told) == set()


@BOTH
def test_one_request_while_it_is_open_is_one_too_many(level: str) -> None:
    journal = ran(f"FV5{level}", 1).journal
    victim = next(fact.text("target") for fact in journal.of("fault"))
    opened = next(fact for fact in journal.of("gauge") if fact.members["name"] == "breaker_state")
    asked = next(fact for fact in journal.of("asked") if fact.at > opened.at + 5.0)
    sneaked = replace(asked, members={**asked.members, "target": victim, "exchange": 1_000_000})
    assert shown(f"FV5{level}", with_fact(journal, sneaked)) == set()


@BOTH
def test_a_trial_that_begins_too_early_is_none(level: str) -> None:
    assert shown(f"FV6{level}", longer(ran(f"FV6{level}", 1).journal, "usage", "duration_s", 2.0)) == set()


def test_the_time_is_that_of_the_specification() -> None:
    assert OPEN_S == 30.0
