import math
from dataclasses import replace

import pytest

from ktms.domain.capacity.node_health import FAILURES_MAX, Evidence
from ktms.domain.capacity.node_report import Look, NodeReport
from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.speed import SpeedSample
from ktms.domain.catalogue import Catalogue, ModelSpec, PolicySpec, TargetSpec
from ktms.domain.ids import LeaseId, ModelName
from ktms.domain.joined_node import leaving
from ktms.engine.lately import KEPT_S
from ktms.ports.lease_store import Lease, SlotWish
from ktms.ports.telemetry import Gauge
from tests.engine.fleet_yard import PAIR, Yard
from tests.engine.machines import ONE, TWO, desk_of, machine, machines, seat_of
from tests.engine.rig import NODE_MODEL, snapshot

SAMPLE = SpeedSample(20.0, 500.0, 1)


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


def shown(yard: Yard) -> float:
    return yard.telemetry.gauges[Gauge.NODE_HEALTH, "mac-1"]


def test_what_was_shown_of_a_node_at_its_old_address_is_shown_no_more(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.follow(replace(PAIR, nodes=(replace(PAIR.nodes[0], url="http://10.0.0.5:8000"), PAIR.nodes[1])), 2)
    assert math.isnan(shown(yard))


def test_a_node_that_is_gone_is_not_shown_as_ill(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.follow(machines(PAIR.nodes[1]), 2)
    assert math.isnan(shown(yard))
    yard.follow(PAIR, 3)
    assert shown(yard) == yard.health() == Health.SUSPECT


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


@pytest.mark.parametrize("away_s", [0, KEPT_S - 1])
def test_what_is_known_of_a_node_that_left_is_known_when_it_comes_back(yard: Yard, away_s: float) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.measured(seat, SAMPLE)
    yard.fleet.shrink_window(seat, 100)
    seat.cold = True
    yard.follow(machines(PAIR.nodes[1]), 2)
    assert yard.fleet.state(ONE) is None
    yard.clock.advance(away_s)
    yard.follow(PAIR, 3)
    again = seat_of(yard.fleet, "mac-1")
    assert yard.health() is Health.SUSPECT
    assert (again.window, again.cold, yard.fleet.meter(again).samples) == (100, True, 1)


def test_a_node_that_comes_back_ill_is_asked_for_a_token_at_once(yard: Yard) -> None:
    for _ in range(FAILURES_MAX):
        yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.health(ONE).token_asked(yard.clock.monotonic())
    yard.follow(machines(PAIR.nodes[1]), 2)
    yard.follow(PAIR, 3)
    assert yard.health() is Health.DOWN
    assert yard.fleet.health(ONE).wants_token(yard.clock.monotonic())


def test_a_node_that_was_away_for_long_comes_back_as_a_stranger(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.follow(machines(PAIR.nodes[1]), 2)
    yard.clock.advance(KEPT_S)
    yard.follow(PAIR, 3)
    assert yard.health() is Health.HEALTHY


def test_a_node_that_comes_back_at_another_address_is_another_machine(yard: Yard) -> None:
    seat = seat_of(yard.fleet, "mac-1")
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.measured(seat, SAMPLE)
    yard.follow(machines(PAIR.nodes[1]), 2)
    moved = replace(PAIR.nodes[0], url="http://10.0.0.5:8000")
    yard.follow(machines(moved, PAIR.nodes[1]), 3)
    again = seat_of(yard.fleet, "mac-1")
    assert (yard.health(), yard.fleet.meter(again).samples) == (Health.HEALTHY, 0)


def test_a_model_that_leaves_a_node_for_a_moment_is_known_when_it_is_back(yard: Yard) -> None:
    yard.fleet.measured(seat_of(yard.fleet, "mac-1"), SAMPLE)
    seat_of(yard.fleet, "mac-1").cold = True
    yard.follow(replace(PAIR, nodes=(replace(PAIR.nodes[0], models=()), PAIR.nodes[1])), 2)
    assert list(yard.fleet.seats_of(ONE)) == []
    yard.follow(PAIR, 3)
    again = seat_of(yard.fleet, "mac-1")
    assert (again.cold, yard.fleet.meter(again).samples) == (True, 1)


def test_a_call_that_ends_after_its_node_left_is_not_counted_for_ever(yard: Yard) -> None:
    desk, lease = desk_of(yard.fleet), Lease(LeaseId("one"), ONE, 2)
    yard.fleet.began(desk, lease)
    yard.follow(machines(PAIR.nodes[1]), 2)
    yard.fleet.ended(desk, lease, draining=False)
    yard.follow(PAIR, 3)
    state = yard.fleet.state(ONE)
    assert state is not None
    assert state.ours == 0


def drains(catalogue: Catalogue = PAIR) -> Catalogue:
    """Let the first node drain."""
    return replace(catalogue, nodes=(leaving(catalogue.nodes[0]), *catalogue.nodes[1:]))


def test_a_node_that_announced_that_it_drains_is_there_and_takes_nothing(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.follow(drains(), 2)
    (one, _) = yard.fleet.status().nodes
    assert (one.draining, one.health) == (True, "suspect")
    yard.follow(PAIR, 3)
    (one, _) = yard.fleet.status().nodes
    assert (one.draining, one.health) == (False, "suspect")


def test_a_look_does_not_take_back_what_a_node_has_announced(yard: Yard) -> None:
    yard.follow(drains(), 2)
    yard.tell(NodeReport(ONE, Look.ANSWERED, draining=False))
    assert yard.fleet.status().nodes[0].draining


def test_an_announcement_that_it_drains_no_longer_is_newer_than_the_last_look(yard: Yard) -> None:
    yard.follow(drains(), 2)
    yard.tell(NodeReport(ONE, Look.ANSWERED, draining=True))
    yard.follow(PAIR, 3)
    assert not yard.fleet.status().nodes[0].draining
    assert yard.fleet.health(ONE).health is Health.HEALTHY


def test_a_new_snapshot_does_not_take_back_what_a_node_says(yard: Yard) -> None:
    yard.tell(NodeReport(ONE, Look.ANSWERED, draining=True))
    yard.follow(with_another(), 2)
    assert yard.fleet.status().nodes[0].draining


def test_a_desk_that_is_no_more_has_what_is_left_of_its_nodes(yard: Yard) -> None:
    desk = desk_of(yard.fleet)
    fewer = tuple(one for one in PAIR.models if one.name != "homely")
    yard.follow(replace(PAIR, models=fewer), 2)
    assert [seat.state.node.name for seat in desk.seats] == ["mac-1", "mac-2"]
    desk = desk_of(yard.fleet, "mixed")
    yard.follow(replace(PAIR, models=(), nodes=PAIR.nodes[1:]), 3)
    assert desk.seats == ()


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


def test_a_node_that_falls_ill_is_a_warning_and_one_that_is_well_again_is_none(yard: Yard) -> None:
    yard.fleet.note(ONE, Evidence.CUT)
    yard.fleet.note(ONE, Evidence.TOKEN)
    turns = [event for event in yard.telemetry.events if event.name == "node_turned"]
    assert [(turn.level, turn.facts["health"]) for turn in turns] == [("warning", "suspect"), ("info", "healthy")]
