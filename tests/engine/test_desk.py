from math import inf

import pytest

from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.selection import Selector
from ktms.domain.capacity.wait_forecast import HOLDING_UNKNOWN_S, PROGRESS_SLOTS_MAX
from ktms.domain.catalogue import Selection
from ktms.domain.ids import LeaseId, ModelName, VendorModel
from ktms.engine.desk import Desk, tell_who_shares
from tests.engine.machines import machine, machines
from tests.engine.rig import NODE_MODEL, snapshot

NOW = 1_000.0
MODEL = VendorModel(NODE_MODEL)


def desk(*slots: int, busy: int = 0) -> Desk:
    """Make a desk with one node per number of slots, `busy` of each taken."""
    found = snapshot(machines(*(machine(f"mac-{at}", slots=count) for at, count in enumerate(slots, start=1))))
    seats = tuple(Seat(NodeState(node, node.slots, busy=busy), MODEL, None) for node in found.nodes)
    return Desk(ModelName("homely"), MODEL, Selector(band=1.25, rule=Selection.WEIGHTED, spin=0), seats=seats)


def known(made: Desk, seconds: float) -> Desk:
    """Let a desk have seen what suffices for a mean."""
    for _ in range(10):
        made.holding.take(seconds)
    return made


def test_littles_law_from_depth_holding_time_and_slots() -> None:
    assert known(desk(4), 8.0).forecast_s(NOW, ahead=2, slots=4) == 3 * 8.0 / 4


def test_waiters_of_other_replicas_stand_ahead_too() -> None:
    made = known(desk(4), 8.0)
    made.elsewhere = 5
    assert made.forecast_s(NOW, ahead=2, slots=4) == 8 * 8.0 / 4


def test_who_waits_for_another_model_of_the_same_nodes_stands_ahead_too() -> None:
    made, other = known(desk(1), 8.0), desk(1)
    tell_who_shares((made, other))
    other.elsewhere = 2
    assert made.forecast_s(NOW, ahead=0, slots=1) == 3 * 8.0


def test_who_waits_for_a_model_elsewhere_is_counted_once_whatever_its_desks() -> None:
    made, other = known(desk(1), 8.0), desk(1)
    tell_who_shares((made, other))
    made.elsewhere = other.elsewhere = 2
    assert made.forecast_s(NOW, ahead=0, slots=1) == 3 * 8.0


def test_who_waits_for_other_nodes_does_not_stand_ahead() -> None:
    made, other = known(desk(1), 8.0), desk(1, 1)
    tell_who_shares((made, other))
    other.elsewhere = 2
    assert made.forecast_s(NOW, ahead=0, slots=1) == 8.0


def test_the_progress_of_our_leases_for_another_model_of_the_same_nodes_is_known() -> None:
    made, other = known(desk(1), 8.0), desk(1)
    tell_who_shares((made, other))
    other.since = {LeaseId("ours"): NOW - 7}
    assert made.forecast_s(NOW, ahead=0, slots=1) == 1.0


def test_the_status_counts_who_waits_here_for_the_same_slots() -> None:
    made, other = known(desk(2, busy=2), 8.0), desk(2)
    tell_who_shares((made, other))
    made.here, other.here = 1, 2
    status = made.status(NOW)
    assert (status.waiting, status.forecast_s) == (1, 4 * 8.0 / 2)


def test_without_samples_a_holding_time_is_assumed() -> None:
    assert desk(1).forecast_s(NOW, ahead=0, slots=1) == HOLDING_UNKNOWN_S


def test_without_slots_it_takes_for_ever_whatever_runs() -> None:
    made = desk(1)
    assert made.forecast_s(NOW, ahead=0, slots=0) == inf
    made.since = {LeaseId("on a node that refused us"): NOW}
    assert made.forecast_s(NOW, ahead=0, slots=0) == inf


def test_the_progress_of_our_own_leases_sharpens_the_forecast() -> None:
    made = known(desk(2), 8.0)
    made.since = {LeaseId("old"): NOW - 7, LeaseId("young"): NOW - 1}
    assert made.forecast_s(NOW, ahead=0, slots=2) == 1.0
    assert made.forecast_s(NOW, ahead=1, slots=2) == 7.0


def test_who_holds_a_slot_unknown_to_us_is_thought_to_have_just_begun() -> None:
    made = known(desk(2), 8.0)
    made.since = {LeaseId("old"): NOW - 7}
    assert [made.forecast_s(NOW, ahead=ahead, slots=2) for ahead in (0, 1)] == [1.0, 8.0]


def test_where_most_holders_are_unknown_progress_says_nothing() -> None:
    made = known(desk(4), 8.0)
    made.since = {LeaseId("old"): NOW - 7}
    assert made.forecast_s(NOW, ahead=0, slots=4) == 2.0


def test_what_is_known_of_other_replicas_leases_sharpens_the_forecast_too() -> None:
    made = known(desk(2), 8.0)
    made.since = {LeaseId("ours"): NOW - 1}
    for _ in range(2):
        made.seats[0].state.others.seen(1, NOW - 5)
    assert made.forecast_s(NOW, ahead=0, slots=2) == 3.0


def test_in_a_large_fleet_the_mean_is_enough() -> None:
    made = known(desk(PROGRESS_SLOTS_MAX + 1), 8.0)
    made.since = {LeaseId(str(at)): NOW - 7 for at in range(PROGRESS_SLOTS_MAX + 1)}
    assert made.forecast_s(NOW, ahead=0, slots=PROGRESS_SLOTS_MAX + 1) == 8.0 / (PROGRESS_SLOTS_MAX + 1)


def test_a_free_slot_is_no_wait() -> None:
    status = desk(2, busy=1).status(NOW)
    assert (status.slots, status.busy, status.forecast_s) == (2, 1, 0.0)


def test_the_status_of_a_full_desk_is_what_one_more_would_wait() -> None:
    made = known(desk(2, busy=2), 8.0)
    made.here, made.elsewhere = 1, 2
    status = made.status(NOW)
    assert (status.waiting, status.forecast_s) == (3, 4 * 8.0 / 2)


def test_slots_of_a_node_that_drains_are_none() -> None:
    made = desk(2)
    made.seats[0].state.draining = True
    assert (made.status(NOW).slots, made.status(NOW).forecast_s) == (0, None)


def test_slots_of_a_node_that_is_down_are_none() -> None:
    made = desk(2)
    made.seats[0].state.health = Health.DOWN
    assert (made.status(NOW).slots, made.status(NOW).forecast_s) == (0, None)


@pytest.mark.parametrize("busy", [2, 3])
def test_more_leases_than_slots_count_as_full(busy: int) -> None:
    assert desk(2, busy=busy).status(NOW).busy == 2
