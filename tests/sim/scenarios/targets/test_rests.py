"""The scenarios about rests are not blind."""

import pytest

from sim.draft import Level
from sim.scenarios.targets.rests import told_to_wait
from sim.seed import Seed
from tests.sim.scenarios.targets.worlds_made import doctored, ran, shown

BOTH = pytest.mark.parametrize("level", ["", "-ports"])


def _seed_with_keys(name: str, count: int) -> int:
    def keys(seed: int) -> int:
        draft = told_to_wait(Seed(seed).child(name), Level.PORTS)
        return draft.vendors[0].keys

    return next(seed for seed in range(20) if keys(seed) == count)


@BOTH
def test_a_key_that_is_used_while_it_rests_shows(level: str) -> None:
    name = f"FV7{level}"
    journal = ran(name, _seed_with_keys(name, 2)).journal
    assert shown(name, journal) == {"FV7"}
    assert shown(name, doctored(journal, "asked", key="one and the same")) == set()


@BOTH
def test_another_key_is_used_where_there_is_one(level: str) -> None:
    name = f"FV7{level}"
    journal = ran(name, _seed_with_keys(name, 2)).journal
    assert len({fact.members["key"] for fact in journal.of("asked") if fact.members["target"] == "cloud-a"}) == 2


@BOTH
def test_a_rest_that_is_said_to_be_longer_than_it_was_kept_shows_nothing(level: str) -> None:
    told = doctored(ran(f"FV7{level}", 0).journal, "told", retry_after_s=60.0)
    assert shown(f"FV7{level}", told) == set()


@BOTH
def test_a_breaker_that_opens_shows_nothing(level: str) -> None:
    journal = ran(f"FV7{level}", 0).journal
    opened = doctored(journal, "gauge", name="breaker_state", label="cloud-a", value=2)
    assert shown(f"FV7{level}", opened) == set()


@BOTH
def test_a_rest_of_days_ends_after_five_minutes(level: str) -> None:
    journal = ran(f"S16{level}", 0).journal
    days = max(float(fact.members["retry_after_s"] or 0) for fact in journal.of("told"))
    assert days > 80_000
    assert shown(f"S16{level}", journal) == {"S16"}
