"""Asking machines of ours: who is asked, what busy answers cost, how slots come back, what answers teach."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.upstream import NOBODY, Fail, Head, Pause, Script, Silence
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.node_health import FAILURES_MAX
from ktms.domain.capacity.seat import Health
from ktms.domain.catalogue import PolicySpec
from ktms.domain.errors import ErrorCode
from ktms.domain.ids import LeaseId
from ktms.domain.placement import Placement
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Streamed, Whole
from ktms.engine.ending import NODE_WAIT_S, UNKNOWN_S
from ktms.engine.node_walk import TAKES_MAX
from ktms.engine.settings import EngineSettings
from ktms.ports.lease_store import Grant, SlotWish
from ktms.ports.telemetry import Dependency
from tests.engine.ends import cause, health, story
from tests.engine.machines import ONE, TWO, desk_of, machine, machines, seat_of
from tests.engine.rig import EVENTS, JSON, NODE_MODEL, refusal, replica_of, rig_of, snapshot, stream, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE, C, F, U, compact, role

PAIR = (machine("mac-1"), machine("mac-2"))
LOADING: Script = (
    Head(503, JSON),
    compact({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}),
)
BUSY: dict[str, Script] = {
    "429": refusal(429),
    "429 later": refusal(429, retry_after="60"),
    "busy": refusal(503, "server busy, please try again. maximum pending requests exceeded"),
}


@pytest.mark.parametrize("busy", BUSY.values(), ids=BUSY)
async def test_fn2_a_busy_answer_is_no_attempt_and_no_failure(busy: Script) -> None:
    rig = await replica_of(machines(*PAIR, policy=PolicySpec(attempts_max=1)))
    rig.says("mac-1", busy)
    rig.says("mac-2", whole())
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-1:busy, local/mac-2:ok"
    assert health(rig) is Health.HEALTHY


async def test_a_node_that_said_busy_seems_full_until_the_next_view() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.says("mac-1", refusal(429))
    rig.says("mac-2", whole())
    for _ in range(3):
        await rig.handle(rig.call("homely"))
    assert rig.dialled == ["mac-1", "mac-2", "mac-2", "mac-2"]
    await rig.sweeper.look()
    rig.says("mac-1", whole())
    for _ in range(2):
        await rig.handle(rig.call("homely"))
    assert "mac-1" in rig.dialled[4:]


async def test_where_all_say_busy_that_is_what_is_told() -> None:
    rig = await replica_of(machines(*PAIR))
    for name in ("mac-1", "mac-2"):
        rig.says(name, refusal(429))
    end = cause(await rig.handle(rig.call("homely")))
    assert (end.code, end.retry_after_s) == (ErrorCode.NO_NODE_AVAILABLE, NODE_WAIT_S)
    assert "local/mac-1:busy, local/mac-2:busy" in end.message


async def test_a_node_is_asked_once_per_call_even_where_it_is_the_only_one() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", refusal(429))
    await rig.handle(rig.call("homely"))
    assert rig.dialled == ["mac-1"]


async def test_n17_a_node_that_loads_is_no_attempt_and_cold_from_then_on() -> None:
    rig = await replica_of(machines(*PAIR, policy=PolicySpec(attempts_max=1)))
    rig.says("mac-1", LOADING)
    rig.says("mac-2", whole())
    for _ in range(4):
        assert isinstance(await rig.handle(rig.call("homely")), Whole)
    assert rig.dialled == ["mac-1", "mac-2", "mac-2", "mac-2", "mac-2"]
    assert seat_of(rig.machines.fleet, "mac-1").cold
    assert health(rig) is Health.HEALTHY


async def test_a_node_without_the_model_is_cold_from_then_on_and_lives() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.says("mac-1", refusal(404, "model not found"))
    rig.says("mac-2", whole())
    for _ in range(4):
        assert isinstance(await rig.handle(rig.call("homely")), Whole)
    assert rig.dialled.count("mac-1") == 1
    assert health(rig) is Health.HEALTHY


FAILURES: dict[str, Script] = {
    "refused": NOBODY,
    "500": refusal(500),
    "cut": (Head(200, JSON), Fail(FailureKind.CLOSED)),
    "malformed": (Head(200, JSON), b"<html>"),
    "silent": (Silence(),),
}


@pytest.mark.parametrize("script", FAILURES.values(), ids=FAILURES)
async def test_a_failure_makes_a_node_suspect_and_three_take_it_down(script: Script) -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", script)
    for number in range(1, FAILURES_MAX + 1):
        await rig.handle(rig.call("homely"))
        assert health(rig) is (Health.DOWN if number == FAILURES_MAX else Health.SUSPECT)
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-1:down"


async def test_a_clients_fault_shows_that_a_node_lives() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", refusal(400))
    for _ in range(2 * FAILURES_MAX):
        await rig.handle(rig.call("homely"))
    assert health(rig) is Health.HEALTHY


@pytest.mark.parametrize("kind", [FailureKind.POOL_TIMEOUT, FailureKind.ADDRESS_REFUSED, FailureKind.TOO_LARGE])
async def test_our_own_limits_say_nothing_about_a_node(kind: FailureKind) -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", (Fail(kind),))
    for _ in range(2 * FAILURES_MAX):
        await rig.handle(rig.call("homely"))
    assert health(rig) is Health.HEALTHY


async def test_our_own_deadline_is_not_held_against_a_node() -> None:
    rig = await replica_of(machines(PAIR[0]), settings=EngineSettings(call_total_s=10))
    rig.says("mac-1", (Silence(),))
    for _ in range(FAILURES_MAX):
        assert cause(await rig.handle(rig.call("homely"))).code == ErrorCode.UPSTREAM_TIMEOUT
    assert health(rig) is Health.HEALTHY


async def test_a_client_that_leaves_says_nothing_about_a_node() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", (Silence(),))
    for _ in range(2 * FAILURES_MAX):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(rig.handle(rig.call("homely")))
            await settle()
            call.cancel()
    assert health(rig) is Health.HEALTHY


async def test_answers_that_break_off_after_they_have_begun_take_a_node_down() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Fail(FailureKind.CLOSED)))
    for _ in range(FAILURES_MAX):
        result = await rig.handle(rig.call("homely", stream=True))
        assert isinstance(result, Streamed)
        assert result.problem is not None
    assert health(rig) is Health.DOWN


async def test_a_suspect_node_is_healthy_with_its_first_token() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", refusal(500), (Head(200, EVENTS), C("a"), Pause(5), F("stop"), DONE))
    await rig.handle(rig.call("homely"))
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.handle(rig.call("homely", stream=True)))
        await settle()
        assert health(rig) is Health.HEALTHY


ROADS: dict[str, Script] = {
    "whole": whole(),
    "busy": refusal(429),
    "loading": LOADING,
    "refusal": refusal(400),
    "server error": refusal(500),
    "nobody": NOBODY,
    "silence": (Silence(),),
    "cut": (Head(200, JSON), Fail(FailureKind.CLOSED)),
    "mistake": (Head(200, JSON), b"\xff"),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)
async def test_a_slot_comes_back_on_every_road(road: Script, streamed: bool) -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", road)
    await rig.handle(rig.call("homely", stream=streamed))
    assert rig.fleet_store.busy(ONE) == 0
    assert desk_of(rig.machines.fleet).since == {}
    rig.assert_at_rest(calls=1)


async def test_a_slot_comes_back_after_a_mistake_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", whole())
    monkeypatch.setattr("ktms.engine.attempt.read_answer", lambda *_, **__: 1 / 0)
    assert cause(await rig.handle(rig.call("homely"))).code == ErrorCode.INTERNAL_ERROR
    assert rig.fleet_store.busy(ONE) == 0


async def test_an_answer_of_some_length_teaches_how_fast_a_node_is() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", (Pause(2), Head(200, EVENTS), C("a"), Pause(4), C("b"), F("stop"), U(1000, 81), DONE))
    await rig.handle(rig.call("homely", stream=True))
    meter = rig.machines.fleet.meter(seat_of(rig.machines.fleet, "mac-1"))
    assert (meter.samples, meter.decode_tokens_per_s, meter.prefill_tokens_per_s) == (1, 20.0, 500.0)


async def test_n29_an_answer_that_was_cut_off_teaches_nothing() -> None:
    rig = await replica_of(machines(PAIR[0]))
    rig.says("mac-1", (Pause(2), Head(200, EVENTS), C("a"), Pause(4), U(1000, 81)))
    await rig.handle(rig.call("homely", stream=True))
    meter = rig.machines.fleet.meter(seat_of(rig.machines.fleet, "mac-1"))
    assert (meter.samples, health(rig)) == (0, Health.SUSPECT)
    assert rig.ledger.events[0].status is AttemptStatus.INTERRUPTED


async def test_several_at_once_are_told_as_such_in_a_sample() -> None:
    rig = await replica_of(machines(machine("mac-1", slots=2)))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Pause(4), F("stop"), U(1000, 81), DONE))
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(rig.handle(rig.call("homely", stream=True)))
    meter = rig.machines.fleet.meter(seat_of(rig.machines.fleet, "mac-1"))
    assert meter.samples == 2
    assert meter.decode_tokens_per_s is not None
    assert meter.decode_tokens_per_s > 20, "what two at once show is less than one alone would"


async def test_a_node_that_leaves_the_catalogue_ends_its_answer_and_nothing_breaks() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.says("mac-1", (Head(200, EVENTS), C("a"), Pause(4), F("stop"), U(1000, 81), DONE))
    client = MemoryClient()
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.handle(rig.call("homely", stream=True), client))
        await after(1)
        rig.current.swap(snapshot(machines(PAIR[1]), 2))
    assert client.body.endswith(DONE)
    assert rig.fleet_store.busy(ONE) == 0
    assert not [event for event in rig.telemetry.events if event.name == "internal_error"]


@pytest.mark.parametrize("away", ["timeout", "unknown"])
async def test_fr5_without_the_store_no_machine_is_asked_and_the_cloud_answers(away: str) -> None:
    rig = await replica_of(machines(*PAIR))
    rig.fleet_store.away = away
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local:unknown, alpha:ok"
    assert (Dependency.REDIS, "take_lease", away) in rig.telemetry.failures
    assert not rig.machines.fleet.status().known


async def test_fr6_without_the_store_a_call_for_machines_alone_is_told_so() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.fleet_store.away = "away"
    for name, placement in (("homely", None), ("mixed", Placement.NODES_ONLY)):
        end = cause(await rig.handle(rig.call(name, placement=placement)))
        assert (end.code, end.retry_after_s) == (ErrorCode.NODE_STATE_UNKNOWN, UNKNOWN_S)
    assert rig.dialled == []


async def test_fr6_a_store_that_was_found_empty_is_unknown_until_its_epoch_is_old_enough() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.fleet_store.lose()
    rig.says("mac-1", whole())
    rig.says("mac-2", whole())
    assert cause(await rig.handle(rig.call("homely"))).code == ErrorCode.NODE_STATE_UNKNOWN
    await after(rig.fleet_store.grace_s)
    assert isinstance(await rig.handle(rig.call("homely")), Whole)
    assert rig.machines.fleet.status().known


async def test_a_model_that_left_the_catalogue_meanwhile_has_no_machine() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.machines.fleet.sync(snapshot(machines(*PAIR, models=()), 2))
    assert cause(await rig.handle(rig.call("homely"))).message == "No node can take the call (local:none)."


async def test_a_model_whose_machines_left_meanwhile_has_none() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.machines.fleet.sync(snapshot(machines(), 2))
    assert cause(await rig.handle(rig.call("homely"))).message == "No node can take the call (local:none)."


class Grudging(MemoryLeaseStore):
    """A store that grants nothing, and says that all is free."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def take(self, wishes: Sequence[SlotWish], lease_id: LeaseId) -> Grant:
        self.asked += 1
        assert lease_id
        return Grant(None, (0,) * len(wishes))


async def test_a_store_that_contradicts_itself_is_not_asked_for_ever() -> None:
    leases = Grudging()
    rig = await rig_of(leases=leases, catalogue=machines(*PAIR))
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local:busy, alpha:ok"
    assert leases.asked == TAKES_MAX


@pytest.mark.parametrize(
    ("word", "members"),
    [("down", {"health": Health.DOWN}), ("draining", {"draining": True})],
)
async def test_why_no_machine_can_take_a_call_is_told(word: str, members: dict[str, object]) -> None:
    rig = await replica_of(machines(*PAIR))
    for state in rig.machines.fleet.nodes:
        for name, value in members.items():
            setattr(state, name, value)
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == f"local:{word}, alpha:ok"


async def test_a_node_that_drains_is_passed_over() -> None:
    rig = await replica_of(machines(*PAIR))
    state = rig.machines.fleet.state(ONE)
    assert state is not None
    state.draining = True
    rig.says("mac-2", whole())
    for _ in range(3):
        assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"


async def test_counts_that_come_back_send_the_next_call_elsewhere() -> None:
    rig = await replica_of(machines(*PAIR))
    await rig.slots.take((SlotWish(ONE, 1),), rig.identities.lease())
    rig.says("mac-2", whole())
    assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"
    state = rig.machines.fleet.state(ONE)
    assert state is not None
    assert state.busy == 1


async def test_tokens_of_two_models_on_one_node_share_its_slots() -> None:
    catalogue = machines(machine("mac-1", models=(NODE_MODEL, "other")))
    rig = await replica_of(catalogue)
    rig.says("mac-1", (Pause(5), *whole()))
    rig.says("alpha", whole())
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.handle(rig.call("homely")))
        await settle()
        assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:busy, alpha:ok"


async def test_an_invisible_stream_that_breaks_goes_to_the_next_machine() -> None:
    rig = await replica_of(machines(*PAIR))
    rig.says("mac-1", (Head(200, EVENTS), role(), Fail(FailureKind.CLOSED)))
    rig.says("mac-2", stream("b"))
    client = MemoryClient()
    assert await rig.handle(rig.call("homely", stream=True), client) == Streamed()
    assert (health(rig), health(rig, TWO)) == (Health.SUSPECT, Health.HEALTHY)


async def test_regions_keep_a_call_away_from_a_node() -> None:
    nodes = (machine("mac-1", region="us"), machine("mac-2", region="fr"))
    homely = next(model for model in machines().models if model.name == "homely")
    rig = await replica_of(machines(*nodes, models=(replace(homely, allowed_regions=("fr",)),)))
    rig.says("mac-2", whole())
    for _ in range(3):
        assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"
