"""Each scenario about targets holds over several seeds, and sees nothing where nothing happened."""

import pytest

from sim.journal.journal import Journal
from sim.scenarios.targets.all_of_them import TARGET_SCENARIOS
from tests.sim.scenarios.targets.worlds_made import (
    BY_ID,
    changed,
    doctored,
    ran,
    shown,
    without_faults,
    without_help,
)

NAMES = sorted(BY_ID)
SEEDS = range(5)

BROKEN_STREAMS = {"FV3", "FV4", "S12", "FV3-ports", "FV4-ports", "S12-ports", "S13"}
"""What they show is that nobody else is asked."""

PASSED_OVER = {"FV5", "FV6", "FV5-ports", "FV6-ports"}
"""What they show is that somebody is not asked, so another target is the first one that is."""


def test_ids_are_told_apart() -> None:
    assert len(BY_ID) == len(TARGET_SCENARIOS)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_every_seed_shows_the_behaviour_and_breaks_no_promise(name: str, seed: int) -> None:
    outcome = ran(name, seed).outcome
    assert (outcome.violations, outcome.broken) == ((), "")


@pytest.mark.parametrize("name", NAMES)
def test_the_fault_struck_and_the_behaviour_is_noted(name: str) -> None:
    outcome, proves = ran(name, 0).outcome, set(BY_ID[name].proves)
    assert proves <= set(outcome.active) & set(outcome.seen)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_world_without_faults_shows_nothing(name: str) -> None:
    journal = changed(name, 1, without_faults)
    assert shown(name, journal) == set()
    assert set(BY_ID[name].active(journal)) == set()


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


def test_seeds_make_different_worlds() -> None:
    hashes = {ran("FV1", seed).outcome.hash for seed in SEEDS}
    assert len(hashes) == len(SEEDS)
