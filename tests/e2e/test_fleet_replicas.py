"""Replicas that share our machines through leases in Redis: never more answers than slots, whatever dies.

Each story happens once, in a fixture that notes what was seen, one after another on the same fleet; a test states
one fact of it.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from ktms.ports.lease_store import EPOCH_GRACE_S, LEASE_TTL_S, RENEW_EVERY_S
from tests.e2e import fleet_stories as stories
from tests.e2e.cloud import Cloud
from tests.e2e.conftest import NewDatabase, NewHome
from tests.e2e.fleet_stand import REDIS_TIMEOUT_S, SLOTS, Fleet, fleet
from tests.e2e.fleet_stories import (
    ANSWERS_EACH,
    BACK_WITHIN_S,
    HELD_BY_THE_DEAD,
    SLACK_S,
    Away,
    Crowded,
    Drained,
    Emptied,
    Filled,
    Hung,
    Killed,
)

pytestmark = [pytest.mark.service, pytest.mark.timeout(240)]

FULL_AGAIN_S = 5.0
"""Clients of a pace ask again within a fraction of this."""


@pytest.fixture(scope="module")
def stand(new_home: NewHome, new_database: NewDatabase, vendor_cloud: Cloud) -> Iterator[Fleet]:
    with fleet(new_home, new_database, vendor_cloud) as running:
        yield running


@pytest.fixture(scope="module")
def filled(stand: Fleet) -> Filled:
    return stories.fill(stand)


@pytest.fixture(scope="module")
def crowded(stand: Fleet, filled: Filled) -> Crowded:
    return stories.throng(stand)


@pytest.fixture(scope="module")
def killed(stand: Fleet, crowded: Crowded) -> Killed:
    return stories.kill(stand)


@pytest.fixture(scope="module")
def away(stand: Fleet, killed: Killed) -> Iterator[Away]:
    with stories.lose(stand) as story:
        yield story


@pytest.fixture(scope="module")
def hung(stand: Fleet, away: Away) -> Hung:
    return stories.hang(stand)


@pytest.fixture(scope="module")
def emptied(stand: Fleet, away: Away, hung: Hung) -> Emptied:
    return stories.empty(stand, away.held)


@pytest.fixture(scope="module")
def drained(stand: Fleet, away: Away, emptied: Emptied) -> Drained:
    return stories.drain(stand, away.held)


def test_all_slots_are_used_before_the_cloud_is_asked(filled: Filled) -> None:
    assert filled.dialled == 0
    assert tuple(filled.running.values()) == SLOTS


def test_each_answer_says_which_machine_gives_it(filled: Filled) -> None:
    assert filled.served_by == filled.running


def test_every_slot_in_use_is_a_lease_in_the_store(filled: Filled) -> None:
    assert filled.leased == filled.running


def test_a_full_fleet_means_the_cloud_at_once(filled: Filled) -> None:
    assert (filled.one_more.status, filled.one_more.headers["x-ktms-vendor"]) == (200, "cloud")


def test_slots_of_clients_who_leave_are_free_at_once(filled: Filled) -> None:
    assert filled.at_rest_s < SLACK_S


def test_under_load_no_machine_has_more_than_its_slots(crowded: Crowded) -> None:
    assert tuple(crowded.most.values()) == SLOTS


def test_under_load_every_machine_works(crowded: Crowded, stand: Fleet) -> None:
    served = Counter(outcome.node for outcome in crowded.outcomes)
    assert min(served[node] for node in stand.nodes) >= ANSWERS_EACH


def test_under_load_every_client_is_answered(crowded: Crowded) -> None:
    assert [outcome for outcome in crowded.outcomes if not outcome.good] == []


def test_at_rest_nothing_is_left_in_the_store(crowded: Crowded) -> None:
    assert crowded.at_rest_s < SLACK_S


def test_a_killed_replica_takes_its_slots_along_for_one_ttl(killed: Killed) -> None:
    assert len(killed.held) == HELD_BY_THE_DEAD
    assert max(killed.gone_after.values()) < LEASE_TTL_S + SLACK_S


def test_slots_of_a_killed_replica_are_not_granted_before_their_leases_end(killed: Killed) -> None:
    early = {
        lease: seconds
        for lease, seconds in killed.gone_after.items()
        if seconds < killed.left_at_death_s[lease] - SLACK_S
    }
    assert early == {}


def test_while_a_dead_replica_holds_slots_no_node_has_more_leases_than_slots(killed: Killed) -> None:
    assert killed.overfull == []


def test_clients_of_a_killed_replica_learn_of_it_at_once(killed: Killed) -> None:
    assert killed.endings == ["none"] * HELD_BY_THE_DEAD
    assert killed.cut_s < SLACK_S


def test_an_answer_longer_than_a_ttl_keeps_its_slot(killed: Killed) -> None:
    assert max(killed.gone_after.values()) > LEASE_TTL_S - RENEW_EVERY_S - SLACK_S, (
        "it was longer than the rest of a TTL"
    )
    assert killed.kept >= killed.long


def test_clients_of_other_replicas_do_not_notice(killed: Killed) -> None:
    assert [outcome for outcome in killed.outcomes if not outcome.good] == []


def test_slots_of_a_killed_replica_serve_again(killed: Killed) -> None:
    assert killed.full_again_s < FULL_AGAIN_S


def test_fr5_without_the_store_the_cloud_answers(away: Away) -> None:
    assert (away.anywhere.status, away.anywhere.headers["x-ktms-vendor"]) == (200, "cloud")
    assert away.anywhere.headers["x-ktms-attempts"] == "local:unknown, cloud:ok"


def test_fr6_without_the_store_nodes_only_is_told_so(away: Away) -> None:
    assert (away.nodes_only.status, away.nodes_only.code) == (503, "node_state_unknown")


def test_answers_that_run_go_on_without_the_store(away: Away) -> None:
    assert away.running == len(away.held)


def test_fr10_the_store_is_used_again_as_soon_as_it_is_back(away: Away) -> None:
    assert away.back_s < BACK_WITHIN_S + SLACK_S
    assert away.held_after >= away.held


def test_fr8_a_hung_store_costs_a_call_one_timeout(hung: Hung) -> None:
    assert (hung.anywhere.status, hung.anywhere.headers["x-ktms-vendor"]) == (200, "cloud")
    assert hung.anywhere_s < REDIS_TIMEOUT_S + SLACK_S
    assert hung.nodes_only.code == "node_state_unknown"


def test_fr8_a_store_that_goes_on_is_used_again(hung: Hung) -> None:
    assert hung.back_s < BACK_WITHIN_S + SLACK_S


def test_fr11_an_empty_store_grants_nothing_new_for_one_renewal_period(emptied: Emptied) -> None:
    assert emptied.strangers == set()
    assert EPOCH_GRACE_S <= emptied.granted_after_s < EPOCH_GRACE_S + BACK_WITHIN_S


def test_fr11_meanwhile_nodes_only_is_told_that_nobody_knows(emptied: Emptied) -> None:
    assert {(answer.status, answer.code) for answer in emptied.refusals} == {(503, "node_state_unknown")}


def test_fr11_meanwhile_the_cloud_answers(emptied: Emptied) -> None:
    assert {(answer.status, answer.headers["x-ktms-vendor"]) for answer in emptied.elsewhere} == {(200, "cloud")}


def test_fr11_answers_that_run_get_their_slots_again(emptied: Emptied, away: Away) -> None:
    assert emptied.regained_after_s < RENEW_EVERY_S + SLACK_S
    assert emptied.held_after >= away.held


def test_a_drained_replica_gives_its_slots_back_before_it_is_gone(drained: Drained, away: Away) -> None:
    assert len(drained.held) == len(away.held) + 1
    assert drained.left == away.held_by_one
    assert drained.done.code == 0


def test_a_stream_cut_by_the_drain_is_told_so(drained: Drained) -> None:
    assert drained.last_word == "draining"


def test_through_all_of_it_no_machine_had_more_answers_than_slots(stand: Fleet, drained: Drained) -> None:
    assert drained.done.code == 0, "the last story is over"
    assert stand.machines.overfull == {}


def test_no_traceback_and_no_secret_is_in_the_logs(stand: Fleet, drained: Drained) -> None:
    for log in (*(replica.program.out for replica in stand.replicas), drained.done.out):
        assert "Traceback" not in log
        assert "internal_error" not in log
        assert stand.store.url not in log
