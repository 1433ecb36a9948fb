"""The worlds in which everything is drawn, and that last."""

import pytest

from sim.draft import Draft
from sim.draft_rules import complaints
from sim.run import run
from sim.scenarios.catalogue import ALL_SCENARIOS, SCENARIOS
from sim.scenarios.everything import EVERYTHING, FAULTS_PER_HOUR, HOUR_S, KINDS_MIN, MENDS_S, NIGHTLY
from sim.seed import Seed
from tests.sim.scenarios.altered import altered, saying

(HOUR,), (DAY,) = EVERYTHING, NIGHTLY


def drafts(count: int) -> list[Draft]:
    return [HOUR.draft(Seed(number).child(HOUR.id)) for number in range(count)]


def test_the_matrix_plays_an_hour_and_a_day_is_played_by_hand() -> None:
    assert HOUR.id in SCENARIOS
    assert DAY.id in ALL_SCENARIOS.keys() - SCENARIOS.keys()
    assert HOUR.draft(Seed(1)).runs_s == HOUR_S
    assert DAY.draft(Seed(1)).runs_s == 24 * HOUR_S


def test_its_drafts_name_nothing_that_they_have_not() -> None:
    assert [complaint for draft in drafts(30) for complaint in complaints(draft)] == []


def test_many_kinds_of_faults_strike() -> None:
    for draft in drafts(30):
        assert len(draft.faults) >= FAULTS_PER_HOUR
        assert len({fault.kind for fault in draft.faults}) >= KINDS_MIN


def test_a_catalogue_that_does_not_compile_is_mended_within_minutes() -> None:
    for draft in drafts(30):
        mended = [fault.at_s for fault in draft.faults if fault.kind == "new_catalogue"]
        for bad in (fault.at_s for fault in draft.faults if fault.kind == "bad_catalogue"):
            assert any(bad <= at <= bad + MENDS_S for at in mended)


@pytest.mark.timeout(120)
def test_an_hour_of_it_shows_s40_and_not_where_calls_fail() -> None:
    done = run(HOUR, 2)
    assert done.outcome.ok, done.outcome
    failing = saying("call_ended", {"status": 200}, status=503, outcome="error")
    assert list(HOUR.seen(altered(done.journal, failing))) == []
