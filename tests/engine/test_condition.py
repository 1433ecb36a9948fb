import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.domain.routing.breaker import FAILURES_MAX, OPEN_S, TRIAL_MAX_S
from ktms.domain.routing.cooldown import KEY_AUTH_REST_S
from ktms.domain.snapshot import Origin, Reach, Vendor
from ktms.engine import condition as module
from ktms.engine.condition import Condition, Pass
from ktms.ports.telemetry import Gauge
from tests.engine.rig import cloud, snapshot

ORIGIN = Origin("https", "alpha.example", 443, "/v1", Reach.PUBLIC)
TARGETS = tuple(cloud(snapshot(), "cloudy", index)[1] for index in (0, 1))
ALPHA = TARGETS[0].vendor


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.telemetry = MemoryTelemetry()
        self.condition = Condition(self.clock, self.telemetry)

    def let_pass(self, name: str = "alpha", origin: Origin = ORIGIN) -> Pass:
        gate = self.condition.pass_for(name, origin)
        assert gate is not None
        return gate

    def passes(self, name: str = "alpha", origin: Origin = ORIGIN) -> bool:
        return self.condition.pass_for(name, origin) is not None

    def trip(self, name: str = "alpha", origin: Origin = ORIGIN) -> None:
        for _ in range(FAILURES_MAX):
            self.let_pass(name, origin).failed()

    def turns(self) -> list[object]:
        return [event.facts["state"] for event in self.telemetry.events]


@pytest.fixture
def world() -> World:
    return World()


def test_failures_in_a_row_stop_the_passes_for_a_while(world: World) -> None:
    world.trip()
    assert not world.passes()
    assert world.condition.ready_in("alpha", ORIGIN) == OPEN_S


def test_an_answer_between_failures_begins_the_count_anew(world: World) -> None:
    for _ in range(3):
        for _ in range(FAILURES_MAX - 1):
            world.let_pass().failed()
        world.let_pass().succeeded()
    assert world.passes()


def test_exactly_one_trial_passes_after_the_while(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    trial = world.let_pass()
    assert not world.passes()
    trial.succeeded()
    assert world.passes()


def test_a_trial_that_fails_stops_the_passes_again(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    world.let_pass().failed()
    assert not world.passes()
    assert world.condition.ready_in("alpha", ORIGIN) == OPEN_S


def test_a_trial_that_says_nothing_is_given_back(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    world.let_pass().says_nothing()
    assert world.passes(), "the next one is the trial now"


def test_a_trial_that_speaks_lets_the_others_pass_at_once(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    trial = world.let_pass()
    trial.speaks()
    assert world.passes()
    trial.failed()
    assert world.passes(), "one failure after that is only the first"


def test_a_trial_that_speaks_and_is_left_by_its_client_takes_nothing_back(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    trial = world.let_pass()
    trial.speaks()
    trial.says_nothing()
    assert world.passes()


def test_a_call_that_began_earlier_gives_no_trial_back(world: World) -> None:
    early = world.let_pass()
    world.trip()
    world.clock.advance(OPEN_S)
    world.let_pass()
    early.says_nothing()
    assert not world.passes(), "the trial is still under way"


def test_a_breaker_belongs_to_one_origin_of_one_name(world: World) -> None:
    world.trip()
    assert world.passes("beta", ORIGIN)
    assert world.passes("alpha", Origin("https", "other.example", 443, "/v1", Reach.PUBLIC))


def test_a_breaker_outlives_its_snapshot(world: World) -> None:
    world.trip()
    assert not world.passes("alpha", Origin("https", "alpha.example", 443, "/other", Reach.PUBLIC))


def test_every_turn_of_a_breaker_is_told_once(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    world.let_pass().says_nothing()
    world.let_pass().succeeded()
    world.let_pass().succeeded()
    assert world.turns() == ["open", "half_open", "open", "half_open", "closed"]
    assert world.telemetry.gauges[Gauge.BREAKER_STATE, "alpha"] == 0


def test_breakers_of_targets_long_gone_make_room(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BREAKERS_MAX", 2)
    world.trip("a")
    for name in "bcd":
        world.trip(name)
    assert world.passes("a"), "forgotten, hence new"
    assert not world.passes("d")


def test_the_first_key_that_does_not_rest_is_used(world: World) -> None:
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[0]
    world.condition.rest(ALPHA.keys[0].id, 5)
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[1]
    world.clock.advance(5)
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[0]


def test_no_key_is_usable_while_all_of_them_rest(world: World) -> None:
    for key in ALPHA.keys:
        world.condition.rest(key.id, 5)
    assert world.condition.usable_key(ALPHA) is None


def test_a_refused_key_is_set_aside_if_there_is_another(world: World) -> None:
    assert world.condition.rest_refused_key(ALPHA, ALPHA.keys[0])
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[1]
    world.clock.advance(KEY_AUTH_REST_S)
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[0]


def test_the_last_refused_key_stays_in_use(world: World) -> None:
    world.condition.rest_refused_key(ALPHA, ALPHA.keys[0])
    assert not world.condition.rest_refused_key(ALPHA, ALPHA.keys[1])
    assert world.condition.usable_key(ALPHA) is ALPHA.keys[1]


def test_a_rest_of_one_target_is_not_that_of_another(world: World) -> None:
    world.condition.rest(TARGETS[0].id, 5)
    assert world.condition.target_rests(TARGETS[0])
    assert not world.condition.target_rests(TARGETS[1])


def test_a_target_is_back_when_rest_keys_and_breaker_allow_it(world: World) -> None:
    vendor: Vendor = ALPHA
    target = (TARGETS[0],)
    assert world.condition.soonest_s(target) == 0
    world.condition.rest(target[0].id, 5)
    assert world.condition.soonest_s(target) == 5
    world.condition.rest(vendor.keys[0].id, 20)
    assert world.condition.soonest_s(target) == 5, "there is another key"
    world.condition.rest(vendor.keys[1].id, 10)
    assert world.condition.soonest_s(target) == 10
    world.trip("alpha", vendor.origin)
    assert world.condition.soonest_s(target) == OPEN_S


def test_of_several_targets_the_first_one_back_counts(world: World) -> None:
    world.condition.rest(TARGETS[0].id, 50)
    world.condition.rest(TARGETS[1].id, 7)
    assert world.condition.soonest_s(TARGETS) == 7
    assert world.condition.soonest_s(()) == 0


@pytest.mark.parametrize("what", ["succeeded", "failed", "says_nothing"])
def test_a_call_from_before_the_failures_says_nothing_while_a_trial_is_under_way(world: World, what: str) -> None:
    early = world.let_pass()
    world.trip()
    world.clock.advance(OPEN_S)
    trial = world.let_pass()
    getattr(early, what)()
    assert not world.passes(), "the trial decides"
    world.clock.advance(OPEN_S)
    assert not world.passes(), "and it is the only one"
    trial.succeeded()
    assert world.passes()


def test_a_trial_that_was_given_up_says_nothing_about_the_next_one(world: World) -> None:
    world.trip()
    world.clock.advance(OPEN_S)
    lost = world.let_pass()
    world.clock.advance(TRIAL_MAX_S)
    world.let_pass()
    lost.says_nothing()
    assert not world.passes()
