"""What a replica makes of what the board tells: counts, waiters, looks and tokens."""

from dataclasses import replace

import pytest

from ktms.domain.capacity.node_health import MISSES_MAX, Evidence
from ktms.domain.capacity.node_report import SAME_LOOK_S, Look, ModelReport, NodeReport
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import ModelSpec, TargetSpec
from ktms.domain.ids import LeaseId, ModelName, NodeName, VendorModel
from ktms.ports.fleet_board import BoardView, Seen
from ktms.ports.lease_store import Lease, SlotWish
from tests.engine.fleet_yard import MODEL, PAIR, Yard
from tests.engine.machines import ONE, TWO, desk_of, machine, machines, seat_of
from tests.engine.rig import NODE_MODEL


@pytest.fixture
def yard() -> Yard:
    return Yard()


def test_the_board_says_how_busy_nodes_are_and_who_waits_elsewhere(yard: Yard) -> None:
    desk = desk_of(yard.fleet)
    desk.here = 2
    yard.fleet.apply(BoardView({ONE: 2, NodeName("gone"): 7}, {ModelName("homely"): 5}))
    state = yard.fleet.state(ONE)
    assert state is not None
    assert (state.busy, desk.elsewhere) == (2, 3)


def test_a_board_that_has_not_heard_of_our_waiters_yet_means_none_elsewhere(yard: Yard) -> None:
    desk = desk_of(yard.fleet)
    desk.here = 2
    yard.fleet.apply(BoardView({}, {ModelName("homely"): 1}))
    assert desk.elsewhere == 0


def test_our_own_waiters_for_another_target_of_a_model_are_not_elsewhere() -> None:
    targets = (TargetSpec("local", NODE_MODEL), TargetSpec("local", "large"))
    nodes = (machine("mac-1"), machine("mac-2", models=("large",)))
    yard = Yard(machines(*nodes, models=(ModelSpec("both", targets),)))
    first, second = yard.fleet.desks
    second.here = 2
    yard.fleet.apply(BoardView({}, {ModelName("both"): 3}))
    assert (first.elsewhere, second.elsewhere) == (1, 1)


def test_desks_on_the_very_same_nodes_know_of_each_other(yard: Yard) -> None:
    homely, mixed = desk_of(yard.fleet), desk_of(yard.fleet, "mixed")
    assert homely.sharing == (homely, mixed)
    assert mixed.sharing is homely.sharing


def test_a_report_counts_once_however_often_it_is_read(yard: Yard) -> None:
    for age_s in (0.0, 0.2, 0.4):
        yard.tell(NodeReport(ONE, Look.MISSED), age_s)
    yard.clock.advance(1)
    yard.tell(NodeReport(ONE, Look.MISSED), 1 - SAME_LOOK_S / 2)
    assert yard.health() is Health.HEALTHY


def test_a_token_right_after_a_look_is_news(yard: Yard) -> None:
    seat = seat_of(yard.fleet, ONE)
    yard.tell(NodeReport(ONE, Look.ANSWERED, models={MODEL: ModelReport(loaded=False)}))
    assert seat.cold
    yard.clock.advance(SAME_LOOK_S / 2)
    yard.tell(NodeReport(ONE, Look.SPOKE, models={MODEL: ModelReport(loaded=True)}))
    assert not seat.cold


def test_a_look_and_a_token_that_are_read_together_are_taken_in_their_order(yard: Yard) -> None:
    token = NodeReport(ONE, Look.SPOKE, models={MODEL: ModelReport(loaded=True)})
    look = NodeReport(ONE, Look.ANSWERED, models={MODEL: ModelReport(loaded=False)})
    yard.fleet.apply(BoardView(seen=(Seen(look, 0.5), Seen(token, 3.0))))
    assert seat_of(yard.fleet, ONE).cold
    yard.clock.advance(5)
    yard.fleet.apply(BoardView(seen=(Seen(look, 2.0), Seen(token, 0.5))))
    assert not seat_of(yard.fleet, ONE).cold


def test_a_token_stands_beside_a_look_and_both_count_once(yard: Yard) -> None:
    look, token = NodeReport(ONE, Look.MISSED, misses=1), NodeReport(ONE, Look.SPOKE)
    for read in range(MISSES_MAX):
        yard.fleet.apply(BoardView(seen=(Seen(token, read + 0.3), Seen(look, read + 0.0))))
        yard.clock.advance(1)
    assert (yard.health(), yard.fleet.misses(ONE)) == (Health.HEALTHY, 1)


def test_slots_that_others_hold_are_told_from_ours(yard: Yard) -> None:
    state, lease = yard.fleet.state(ONE), Lease(LeaseId("mine"), ONE, 2)
    assert state is not None
    yard.fleet.began(desk_of(yard.fleet), lease)
    for _ in range(2):
        yard.fleet.apply(BoardView({ONE: 2}))
    assert len(state.others.since) == 1
    yard.fleet.ended(desk_of(yard.fleet), lease, draining=False)
    for _ in range(2):
        yard.fleet.apply(BoardView({ONE: 1}))
    assert (state.ours, len(state.others.since)) == (0, 1)


def test_looks_missed_in_a_row_take_an_idle_node_down(yard: Yard) -> None:
    for _ in range(MISSES_MAX):
        yard.tell(NodeReport(ONE, Look.MISSED))
        yard.clock.advance(5)
    assert yard.health() is Health.DOWN


def test_n15_a_node_that_is_at_work_may_miss_looks(yard: Yard) -> None:
    yard.fleet.looked([SlotWish(ONE, 2)], [1])
    for _ in range(5 * MISSES_MAX):
        yard.tell(NodeReport(ONE, Look.MISSED))
        yard.clock.advance(5)
    assert yard.health() is Health.HEALTHY


def test_a_report_of_a_token_heals_and_warms(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    seat.cold = True
    yard.fleet.note(ONE, Evidence.CUT)
    yard.tell(NodeReport(ONE, Look.SPOKE, models={MODEL: ModelReport(loaded=True)}))
    assert (seat.cold, yard.health()) == (False, Health.HEALTHY)


@pytest.mark.parametrize(("told", "slots"), [(1, 1), (2, 2), (64, 2)])
def test_fewer_slots_than_declared_are_believed_more_are_not(yard: Yard, told: int, slots: int) -> None:
    yard.tell(NodeReport(ONE, Look.ANSWERED, slots=told))
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.slots == slots


@pytest.mark.parametrize(("told", "window"), [(2048, 2048), (8192, 8192), (131_072, 8192), (None, 8192)])
def test_a_smaller_window_than_declared_is_believed_a_larger_one_is_not(
    yard: Yard, told: int | None, window: int
) -> None:
    yard.tell_models(TWO, window=told)
    assert seat_of(yard.fleet, "mac-2").window == window


@pytest.mark.parametrize(
    ("node", "told_last", "window"), [(TWO, 8192, 8192), (TWO, 6000, 6000), (ONE, 9999, 9999)]
)
def test_a_window_that_was_told_smaller_is_believed_larger_again(
    yard: Yard, node: NodeName, told_last: int, window: int
) -> None:
    for told in (2048, None, told_last):
        yard.tell_models(node, window=told)
    assert seat_of(yard.fleet, node).window == window


def test_a_window_that_was_shown_stays_whatever_is_told(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-2")
    yard.tell_models(TWO, window=6000)
    yard.fleet.shrink_window(seat, 4096)
    yard.tell_models(TWO, window=8192)
    assert seat.window == 4096
    yard.tell_models(TWO, window=2048)
    assert seat.window == 2048


def test_a_window_that_was_not_declared_is_the_one_told(yard: Yard) -> None:
    yard.tell_models(ONE, window=2048)
    assert seat_of(yard.fleet, "mac-1").window == 2048


def test_a_model_that_is_not_loaded_is_cold_until_it_has_spoken(yard: Yard) -> None:
    yard.tell_models(ONE, loaded=False)
    assert seat_of(yard.fleet, "mac-1").cold
    yard.tell_models(ONE, loaded=True)
    assert seat_of(yard.fleet, "mac-1").cold, "loaded is not yet: has answered since"
    yard.fleet.speaks(seat_of(yard.fleet, "mac-1"))
    assert not seat_of(yard.fleet, "mac-1").cold


def test_nothing_told_of_a_model_changes_nothing(yard: Yard) -> None:
    yard.tell_models(TWO)
    seat = seat_of(yard.fleet, "mac-2")
    assert (seat.cold, seat.window) == (False, 8192)


def test_a_default_tag_may_be_told_or_left_out() -> None:
    yard = Yard(machines(machine("mac-1", models=("llama",))))
    assert list(yard.fleet.seats_of(ONE)) == []
    tagged = ModelSpec("tagged", (TargetSpec("local", "llama"),))
    yard.follow(replace(PAIR, nodes=(machine("mac-1", models=("llama",)),), models=(tagged,)), 2)
    yard.tell(NodeReport(ONE, Look.ANSWERED, models={VendorModel("llama:latest"): ModelReport(loaded=False)}))
    assert seat_of(yard.fleet, "mac-1").cold


def test_a_node_that_drains_says_so_and_may_come_back(yard: Yard) -> None:
    for draining in (True, False):
        yard.clock.advance(5)
        yard.tell(NodeReport(ONE, Look.ANSWERED, draining=draining))
        state = yard.fleet.state(ONE)
        assert state is not None
        assert state.draining is draining


def test_a_token_says_nothing_about_draining(yard: Yard) -> None:
    yard.tell(NodeReport(ONE, Look.ANSWERED, draining=True))
    yard.clock.advance(5)
    yard.tell(NodeReport(ONE, Look.SPOKE))
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.draining
