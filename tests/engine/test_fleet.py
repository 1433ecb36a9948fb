from dataclasses import replace

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.capacity.node_health import FAILURES_MAX, MISSES_MAX, Evidence
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.speed import SpeedSample
from ktms.domain.catalogue import Catalogue, ModelSpec, PolicySpec, TargetSpec
from ktms.domain.ids import LeaseId, ModelName, NodeName, VendorModel
from ktms.engine.fleet import SAME_LOOK_S, Fleet
from ktms.ports.fleet_board import BoardView, Seen
from ktms.ports.lease_store import Lease, SlotWish
from ktms.ports.telemetry import Gauge
from tests.engine.machines import ONE, TWO, desk_of, machine, machines, seat_of
from tests.engine.rig import NODE_MODEL, snapshot

MODEL = VendorModel(NODE_MODEL)
SAMPLE = SpeedSample(20.0, 500.0, 1)
PAIR = machines(machine("mac-1", slots=2), machine("mac-2", window=8192))


class Yard:
    """A fleet on a clock that stands still."""

    def __init__(self, catalogue: Catalogue = PAIR) -> None:
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.fleet = Fleet(self.clock, self.telemetry, 0)
        self.follow(catalogue)

    def follow(self, catalogue: Catalogue, version: int = 1) -> None:
        self.fleet.sync(snapshot(catalogue, version))

    def health(self, node: NodeName = ONE) -> Health:
        state = self.fleet.state(node)
        assert state is not None
        return state.health

    def tell(self, report: NodeReport, age_s: float = 0.0) -> None:
        self.fleet.apply(BoardView(seen=(Seen(report, age_s),)))

    def tell_models(self, node: NodeName = ONE, **facts: object) -> None:
        """Tell of a look at one node; time has passed since the last one."""
        self.clock.advance(5)
        report = ModelReport(**facts)  # type: ignore[arg-type]  # members by name
        self.tell(NodeReport(node, Look.ANSWERED, models={MODEL: report}))


@pytest.fixture
def yard() -> Yard:
    return Yard()


def with_another(catalogue: Catalogue = PAIR) -> Catalogue:
    """Add a model, so that the snapshot is another one."""
    return replace(catalogue, models=(*catalogue.models, ModelSpec("more", (TargetSpec("alpha", "gpt"),))))


def test_n07_what_is_known_of_a_node_outlives_a_new_snapshot(yard: Yard) -> None:
    yard.fleet.looked([SlotWish(ONE, 2)], [2])
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.measured(seat_of(yard.fleet, "mac-1"), SAMPLE)
    yard.fleet.shrink_window(seat_of(yard.fleet, "mac-2"), 4096)
    seat_of(yard.fleet, "mac-2").cold = True
    yard.follow(with_another(), 2)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert (state.busy, state.health) == (2, Health.SUSPECT)
    assert yard.fleet.meter(seat_of(yard.fleet, "mac-1")).samples == 1
    assert (seat_of(yard.fleet, "mac-2").window, seat_of(yard.fleet, "mac-2").cold) == (4096, True)


def test_holding_times_and_turns_outlive_a_new_snapshot(yard: Yard) -> None:
    before = desk_of(yard.fleet)
    yard.follow(with_another(), 2)
    assert desk_of(yard.fleet) is before


def test_the_same_snapshot_again_changes_nothing(yard: Yard) -> None:
    same = snapshot(PAIR)
    yard.fleet.sync(same)
    desk = desk_of(yard.fleet)
    desk.seats = ()
    yard.fleet.sync(same)
    assert desk.seats == ()


def test_a_node_at_another_address_is_another_machine(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.measured(seat_of(yard.fleet, "mac-1"), SAMPLE)
    yard.fleet.shrink_window(seat_of(yard.fleet, "mac-1"), 100)
    seat_of(yard.fleet, "mac-1").cold = True
    moved = replace(PAIR.nodes[0], url="http://10.0.0.5:8000")
    yard.follow(replace(PAIR, nodes=(moved, PAIR.nodes[1])), 2)
    seat = seat_of(yard.fleet, "mac-1")
    assert yard.health() is Health.HEALTHY
    assert (seat.window, seat.cold, yard.fleet.meter(seat).samples) == (None, False, 0)


def test_a_node_at_another_address_keeps_the_leases_of_its_name(yard: Yard) -> None:
    yard.fleet.looked([SlotWish(ONE, 2)], [1])
    moved = replace(PAIR.nodes[0], url="http://10.0.0.5:8000")
    yard.follow(replace(PAIR, nodes=(moved, PAIR.nodes[1])), 2)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.busy == 1


def test_a_window_declared_anew_is_believed_again(yard: Yard) -> None:
    yard.fleet.shrink_window(seat_of(yard.fleet, "mac-2"), 4096)
    yard.follow(machines(PAIR.nodes[0], machine("mac-2", window=16_384)), 2)
    assert seat_of(yard.fleet, "mac-2").window == 16_384


def test_slots_declared_anew_are_believed_again(yard: Yard) -> None:
    yard.tell(NodeReport(ONE, Look.ANSWERED, slots=1))
    yard.follow(machines(machine("mac-1", slots=4), PAIR.nodes[1]), 2)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.slots == 4


def test_a_node_that_left_is_forgotten(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.follow(machines(PAIR.nodes[1]), 2)
    assert yard.fleet.state(ONE) is None
    yard.follow(PAIR, 3)
    assert yard.health() is Health.HEALTHY


def test_word_of_a_node_that_left_is_no_news(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    yard.follow(machines(PAIR.nodes[1]), 2)
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.speaks(seat)
    yard.fleet.spoke(seat)
    yard.fleet.measured(seat, SAMPLE)
    yard.fleet.freed(ONE)
    yard.fleet.looked([SlotWish(ONE, 2)], [1])
    yard.tell(NodeReport(ONE, Look.MISSED))
    assert yard.fleet.meter(seat).samples == 0
    assert yard.fleet.health(ONE).health is Health.HEALTHY
    assert list(yard.fleet.seats_of(ONE)) == []
    assert list(yard.fleet.desks_of(ONE)) == []


def test_a_band_of_another_width_keeps_the_desk(yard: Yard) -> None:
    desk = desk_of(yard.fleet)
    yard.follow(replace(PAIR, policy=PolicySpec(band=2.0)), 2)
    assert desk_of(yard.fleet) is desk
    assert desk.selector.band == 2.0


def test_a_model_that_left_has_no_desk(yard: Yard) -> None:
    found = snapshot(PAIR)
    model = next(model for model in found.models if model.name == "homely")
    assert yard.fleet.desk(model, model.local[0]) is desk_of(yard.fleet)
    yard.follow(replace(PAIR, models=tuple(one for one in PAIR.models if one.name != "homely")), 2)
    assert yard.fleet.desk(model, model.local[0]) is None


def test_two_public_names_of_one_model_share_its_seat_and_its_slots(yard: Yard) -> None:
    homely, mixed = desk_of(yard.fleet, "homely"), desk_of(yard.fleet, "mixed")
    assert homely.seats == mixed.seats
    assert set(yard.fleet.desks_of(ONE)) == {homely, mixed}


def test_a_lease_of_ours_is_timed_at_its_desk(yard: Yard) -> None:
    desk, lease = desk_of(yard.fleet), Lease(LeaseId("one"), ONE, 2)
    for _ in range(5):
        yard.fleet.looked([SlotWish(ONE, 2)], [1])
        yard.fleet.began(desk, lease)
        yard.clock.advance(3)
        yard.fleet.ended(desk, lease, draining=False)
    assert (desk.holding.mean_s, desk.since) == (3.0, {})
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.busy == 0


def test_a_slot_that_drains_is_not_free_yet(yard: Yard) -> None:
    desk, lease = desk_of(yard.fleet), Lease(LeaseId("one"), ONE, 2)
    yard.fleet.looked([SlotWish(ONE, 2)], [1])
    yard.fleet.began(desk, lease)
    yard.fleet.ended(desk, lease, draining=True)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.busy == 1


@pytest.mark.parametrize(("busy", "left"), [(3, 1), (2, 1), (1, 1), (0, 0)])
def test_word_of_a_freed_slot_means_that_one_is_free_however_often_it_comes(
    yard: Yard, busy: int, left: int
) -> None:
    yard.fleet.looked([SlotWish(ONE, 2)], [busy])
    for _ in range(3):
        yard.fleet.freed(ONE)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.busy == left


def test_a_token_makes_a_seat_warm_and_its_node_healthy(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    seat.cold = True
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.spoke(seat)
    assert (seat.cold, yard.health()) == (False, Health.HEALTHY)


def test_a_first_token_heals_but_does_not_pay_for_answers_that_break_off(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    for _ in range(FAILURES_MAX):
        yard.fleet.speaks(seat)
        assert yard.health() is Health.HEALTHY
        yard.fleet.note(ONE, Evidence.CUT)
    assert yard.health() is Health.DOWN


def test_loading_makes_all_models_of_a_node_cold_and_is_no_failure(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.LOADING)
    assert [seat.cold for seat in yard.fleet.seats_of(ONE)] == [True]
    assert [seat.cold for seat in yard.fleet.seats_of(TWO)] == [False]
    assert yard.health() is Health.HEALTHY


def test_a_turn_of_health_is_told_once(yard: Yard) -> None:
    for _ in range(2):
        yard.fleet.note(ONE, Evidence.CUT)
    assert [event.facts for event in yard.telemetry.events] == [{"node": "mac-1", "health": "suspect"}]
    assert yard.telemetry.gauges[Gauge.NODE_HEALTH, "mac-1"] == Health.SUSPECT


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


def test_a_window_is_only_ever_shrunk_and_that_is_told(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-2")
    for window, left in ((4096, 4096), (6000, 4096)):
        yard.fleet.shrink_window(seat, window)
        assert seat.window == left
    assert [event.name for event in yard.telemetry.events] == ["window_smaller_than_declared"]


def test_speeds_are_those_of_the_last_ranking(yard: Yard) -> None:
    fast, slow = seat_of(yard.fleet, "mac-1"), seat_of(yard.fleet, "mac-2")
    for _ in range(20):
        yard.fleet.measured(fast, SpeedSample(80.0, 2000.0, 1))
        yard.fleet.measured(slow, SpeedSample(20.0, 500.0, 1))
    assert (fast.speed, slow.speed) == (1.0, 1.0)
    yard.fleet.rank()
    assert fast.speed > 1 > slow.speed


def test_the_status_tells_all_there_is_to_know(yard: Yard) -> None:
    yard.fleet.looked([SlotWish(ONE, 2)], [1])
    yard.fleet.note(TWO, Evidence.CUT)
    yard.fleet.measured(seat_of(yard.fleet, "mac-1"), SAMPLE)
    status = yard.fleet.status()
    one, two = status.nodes
    assert status.known
    assert (one.name, one.engine, one.busy, one.slots, one.health) == ("mac-1", "vllm", 1, 2, "healthy")
    assert (two.health, two.draining, two.seats[0].window) == ("suspect", False, 8192)
    assert [(seat.vendor_model, seat.samples, seat.cold) for seat in one.seats] == [(NODE_MODEL, 1, False)]
    assert one.seats[0].decode_tokens_per_s == 20
    queues = {queue.model: queue for queue in status.queues}
    assert (queues[ModelName("homely")].slots, queues[ModelName("homely")].busy) == (3, 1)
