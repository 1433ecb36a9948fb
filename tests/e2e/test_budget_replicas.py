"""P55, P57, FG3, FR3, FR8, FR11: a budget that three replicas share, whatever dies or is changed.

Each story happens once, in a fixture that notes what was seen, one after another on the same stand; a test states
one fact of it.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from ktms.ports.quota_store import BEAT_EVERY_S, RESERVATION_TTL_S
from tests.e2e import budget_stories as stories
from tests.e2e.budget_stand import COST_MICROS, DAY_MICROS, FITS, RESERVED_MICROS, TEAM, Stand
from tests.e2e.budget_stand import stand as a_stand
from tests.e2e.budget_stories import CROWD, LIVING, Changed, Crowded, Failing, Spent
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.fleet_stand import REDIS_TIMEOUT_S

pytestmark = [pytest.mark.service, pytest.mark.timeout(180)]

KNOWN_S = 10.0
"""A key that was changed or revoked is known to be so by every replica within this."""

BACK_S = 3.0

SLACK_S = 1.0
"""For a loaded machine."""


@pytest.fixture(scope="module")
def stand(new_home: NewHome, new_database: NewDatabase) -> Iterator[Stand]:
    with a_stand(new_home, new_database) as running:
        yield running


@pytest.fixture(scope="module")
def changed(stand: Stand) -> Changed:
    return stories.change(stand)


@pytest.fixture(scope="module")
def crowded(stand: Stand, changed: Changed) -> Crowded:
    return stories.crowd(stand)


@pytest.fixture(scope="module")
def spent(stand: Stand, crowded: Crowded) -> Spent:
    return stories.spend(stand)


@pytest.fixture(scope="module")
def failing(stand: Stand, spent: Spent) -> Failing:
    return stories.fail(stand)


def test_p57_a_lowered_limit_is_in_force_on_every_replica(changed: Changed) -> None:
    assert changed.lowered_s < KNOWN_S


def test_p57_a_revoked_key_is_refused_by_every_replica(changed: Changed) -> None:
    assert changed.revoked_s < KNOWN_S
    assert set(changed.statuses) == {401}


def test_p57_an_answer_under_way_outlives_the_revocation(changed: Changed) -> None:
    assert changed.went_on


def test_p55_never_more_calls_are_under_way_than_the_budget_holds(crowded: Crowded, spent: Spent) -> None:
    assert FITS // 2 < crowded.most <= FITS
    assert spent.most <= FITS


def test_p55_those_who_do_not_fit_are_told_when_to_come_back(crowded: Crowded) -> None:
    refused = [each for each in crowded.outcomes if each.status not in (0, 200)]
    assert {(each.status, each.code) for each in refused} == {(429, "budget_exceeded")}
    assert all(int(each.retry_after) > 0 for each in refused)


def test_p55_everybody_is_answered_refused_or_was_at_the_dead_replica(crowded: Crowded) -> None:
    by_status = Counter(each.status for each in crowded.outcomes)
    assert by_status[200] + by_status[429] + by_status[0] == CROWD
    cut = sum(each.status == 200 and not each.whole for each in crowded.outcomes)
    assert cut <= crowded.held_by_dead_micros // RESERVED_MICROS


def test_fg3_what_a_killed_replica_had_reserved_stays_reserved_for_a_while(crowded: Crowded) -> None:
    assert crowded.held_by_dead_micros > 0
    assert crowded.held_by_dead_micros % RESERVED_MICROS == 0
    assert crowded.given_back_s > RESERVATION_TTL_S - BEAT_EVERY_S - SLACK_S


def test_fg3_what_a_killed_replica_had_reserved_is_back_within_its_time(crowded: Crowded) -> None:
    assert crowded.given_back_s < RESERVATION_TTL_S + SLACK_S


def test_a_call_larger_than_the_day_is_never_admitted(crowded: Crowded) -> None:
    assert {(each.status, each.code) for each in crowded.refusals} == {(429, "budget_exceeded")}


def test_p55_a_budget_is_used_and_not_exceeded(spent: Spent) -> None:
    for account, micros in spent.spent_micros.items():
        assert DAY_MICROS - RESERVED_MICROS < micros <= DAY_MICROS, account


def test_nothing_stays_reserved(spent: Spent) -> None:
    assert set(spent.reserved_micros.values()) == {0}


def test_the_ledger_has_what_the_vendor_served(spent: Spent) -> None:
    assert spent.ledger_micros == spent.whole * COST_MICROS
    assert spent.spent_micros[TEAM] == spent.ledger_micros


def test_fr3_fr8_a_hung_store_closes_the_budget_after_one_timeout(failing: Failing) -> None:
    assert (failing.hung.status, failing.hung.code) == (503, "budget_unavailable")
    assert failing.hung_s < REDIS_TIMEOUT_S + SLACK_S


def test_fr10_a_store_that_goes_on_is_used_again(failing: Failing) -> None:
    assert failing.back_s < BACK_S + SLACK_S


def test_fr11_a_store_that_forgot_is_told_by_the_ledger_before_anybody_spends(
    failing: Failing, spent: Spent
) -> None:
    assert [(each.status, each.code) for each in failing.after] == [(429, "budget_exceeded")] * 2 * len(LIVING)
    assert failing.dialled == 0
    assert failing.spent_micros == spent.spent_micros
