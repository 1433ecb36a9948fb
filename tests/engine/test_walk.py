import asyncio
from dataclasses import replace

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.upstream import NOBODY, Fail, Head, Pause, Script, Silence
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.catalogue import TimeoutSpec
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import NodeName
from ktms.domain.placement import Placement
from ktms.domain.routing.breaker import FAILURES_MAX
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.ending import UNKNOWN_S
from ktms.engine.settings import EngineSettings
from ktms.ports.lease_store import SlotWish
from ktms.ports.telemetry import Dependency
from tests.engine.doubles import AbsentLeases
from tests.engine.rig import CATALOGUE, EVENTS, Rig, policy, refusal, rig_of, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE, C, F, role

SLOT = (SlotWish(NodeName("mac-1"), 2), SlotWish(NodeName("mac-2"), 1))


def story(result: Result) -> str:
    assert isinstance(result, Whole | Failed)
    return dict(result.headers).get("X-KTMS-Attempts", "")


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


async def fill(rig: Rig, count: int) -> None:
    for _ in range(count):
        assert await rig.slots.take(SLOT, rig.identities.lease()) is not None


async def test_the_first_target_that_answers_ends_the_walk(rig: Rig) -> None:
    rig.says("alpha", whole())
    result = await rig.handle(rig.call())
    assert (rig.dialled, story(result)) == (["alpha"], "alpha:ok")


async def test_a_failure_moves_on_to_the_next_target(rig: Rig) -> None:
    rig.says("alpha", NOBODY)
    rig.says("beta", whole())
    result = await rig.handle(rig.call())
    assert (rig.dialled, story(result)) == (["alpha", "beta"], "alpha:refused, beta:ok")


async def test_a_clients_fault_does_not_move_on(rig: Rig) -> None:
    rig.says("alpha", refusal(400, "bad"))
    result = await rig.handle(rig.call())
    assert (rig.dialled, cause(result).status) == (["alpha"], 400)


async def test_when_nobody_answers_the_last_one_speaks_and_the_first_cause_is_named(rig: Rig) -> None:
    rig.says("alpha", refusal(500, "broken disk"))
    rig.says("beta", refusal(429, "slow down", retry_after="9"))
    end = cause(await rig.handle(rig.call()))
    assert (end.status, end.retry_after_s) == (429, 9)
    assert "broken disk" in end.message
    assert "alpha:500, beta:429" in end.message


async def test_each_target_is_asked_at_most_once(rig: Rig) -> None:
    for name in ("mac-1", "mac-2", "alpha", "beta"):
        rig.says(name, NOBODY)
    await rig.handle(rig.call("mixed"))
    assert sorted(rig.dialled) == ["alpha", "beta", "mac-1", "mac-2"]


async def test_attempts_are_bounded() -> None:
    rig = await rig_of(catalogue=policy(attempts_max=1))
    rig.says("alpha", NOBODY)
    assert cause(await rig.handle(rig.call())).code == ErrorCode.UPSTREAM_ERROR
    assert rig.dialled == ["alpha"]


async def test_one_attempt_is_kept_for_the_cloud() -> None:
    rig = await rig_of(catalogue=policy(attempts_max=2))
    for name in ("mac-1", "mac-2", "beta"):
        rig.says(name, NOBODY)
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call("mixed")), Whole)
    assert rig.dialled == ["mac-1", "alpha"]


async def test_own_machines_come_first_and_take_turns_by_their_slots(rig: Rig) -> None:
    for name in ("mac-1", "mac-2"):
        rig.says(name, whole())
    for _ in range(6):
        await rig.handle(rig.call("mixed"))
    assert rig.dialled == ["mac-1", "mac-2", "mac-1"] * 2


async def test_a_machine_that_is_full_is_passed_over(rig: Rig) -> None:
    for _ in range(2):
        await rig.slots.take((SlotWish(NodeName("mac-1"), 2),), rig.identities.lease())
    rig.says("mac-2", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-2:ok"


async def test_machines_that_are_busy_cost_no_attempt(rig: Rig) -> None:
    await fill(rig, 3)
    rig.says("alpha", whole())
    result = await rig.handle(rig.call("mixed"))
    assert story(result) == "local:busy, alpha:ok"


async def test_busy_machines_without_a_cloud_are_told_as_such(rig: Rig) -> None:
    await fill(rig, 3)
    end = cause(await rig.handle(rig.call("homely")))
    assert (end.code, rig.dialled) == (ErrorCode.NO_NODE_AVAILABLE, [])
    assert end.retry_after_s


async def test_nodes_only_never_reaches_the_cloud(rig: Rig) -> None:
    for name in ("mac-1", "mac-2"):
        rig.says(name, NOBODY)
    await rig.handle(rig.call("mixed", placement=Placement.NODES_ONLY))
    await fill(rig, 3)
    await rig.handle(rig.call("mixed", placement=Placement.NODES_ONLY))
    assert set(rig.dialled) == {"mac-1", "mac-2"}


async def test_a_machine_that_fails_is_followed_by_the_next_machine(rig: Rig) -> None:
    rig.says("mac-1", refusal(503))
    rig.says("mac-2", whole())
    result = await rig.handle(rig.call("homely"))
    assert story(result) == "local/mac-1:503, local/mac-2:ok"


async def test_one_busy_machine_is_named(rig: Rig) -> None:
    nodes = (replace(CATALOGUE.nodes[0], slots=1), replace(CATALOGUE.nodes[1], enabled=False))
    rig = await rig_of(catalogue=replace(CATALOGUE, nodes=nodes))
    await rig.slots.take((SlotWish(NodeName("mac-1"), 1),), rig.identities.lease())
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local/mac-1:busy, alpha:ok"


async def test_a_machine_whose_window_is_too_small_is_not_asked() -> None:
    nodes = tuple(
        replace(node, models=(replace(node.models[0], context_window=window),))
        for node, window in zip(CATALOGUE.nodes, (2000, 100_000), strict=True)
    )
    rig = await rig_of(catalogue=replace(CATALOGUE, nodes=nodes))
    rig.says("mac-2", whole())
    result = await rig.handle(rig.call("homely", max_tokens=5000))
    assert story(result) == "local/mac-2:ok"


async def test_a_model_that_no_machine_serves_has_no_node(rig: Rig) -> None:
    result = await rig.handle(rig.call("nowhere"))
    end = cause(result)
    assert (end.code, end.message) == (
        ErrorCode.NO_NODE_AVAILABLE,
        "Model 'nowhere' has no enabled node and no vendor.",
    )
    assert story(result) == "local:none"


async def test_a_model_without_a_node_says_so_before_its_cloud_is_asked() -> None:
    rig = await rig_of(catalogue=replace(CATALOGUE, nodes=()))
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local:none, alpha:ok"


async def test_under_cloud_first_a_model_without_a_node_says_so_after_its_clouds() -> None:
    rig = await rig_of(catalogue=replace(CATALOGUE, nodes=()))
    for name in ("alpha", "beta"):
        rig.says(name, refusal(503))
    result = await rig.handle(rig.call("mixed", placement=Placement.CLOUD_FIRST))
    assert story(result) == "alpha:503, beta:503, local:none"


async def test_a_model_of_the_cloud_alone_says_nothing_of_nodes(rig: Rig) -> None:
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("cloudy"))) == "alpha:ok"


async def test_a_slot_is_held_while_its_machine_answers_and_no_longer(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("mac-1", (Pause(1), *whole()))
    async with asyncio.TaskGroup() as group:
        group.create_task(rig.handle(rig.call("homely")))
        await settle()
        assert rig.busy == 1
        gate.set()
    assert rig.busy == 0


async def test_slots_are_never_given_twice_however_many_calls_there_are(rig: Rig) -> None:
    for name in ("mac-1", "mac-2"):
        rig.says(name, (Pause(1), *whole()))
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(rig.handle(rig.call("homely"))) for _ in range(20)]
        await settle()
        assert rig.busy == 3
    assert sum(isinstance(call.result(), Whole) for call in calls) == 3
    rig.assert_at_rest(calls=20)


async def test_without_a_lease_store_the_cloud_answers() -> None:
    rig = await rig_of(leases=AbsentLeases())
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call("mixed"))) == "local:unknown, alpha:ok"
    assert (Dependency.REDIS, "take_lease", "timeout") in rig.telemetry.failures


async def test_without_a_lease_store_no_machine_is_asked() -> None:
    rig = await rig_of(leases=AbsentLeases())
    end = cause(await rig.handle(rig.call("homely")))
    assert (end.code, end.retry_after_s) == (ErrorCode.NODE_STATE_UNKNOWN, UNKNOWN_S)
    assert rig.dialled == []


async def test_waiting_for_a_slot_is_the_queues_time() -> None:
    class Slow(MemoryLeaseStore):
        async def take(self, wishes, lease_id):  # type: ignore[no-untyped-def]  # as its parent
            await after(0.25)
            return await super().take(wishes, lease_id)

    rig = await rig_of(leases=Slow())
    rig.says("mac-1", whole())
    await rig.handle(rig.call("homely"))
    (record,) = rig.telemetry.calls
    assert (record.queue_s, record.upstream_s) == (0.25, 0)


async def test_nothing_is_asked_again_once_something_was_visible(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", (Head(200, EVENTS), C("a"), Fail(FailureKind.CLOSED)))
    result = await rig.handle(rig.call(stream=True), client)
    assert isinstance(result, Streamed)
    assert result.problem is not None
    assert (rig.dialled, result.problem.code) == (["alpha"], ErrorCode.STREAM_INTERRUPTED)


async def test_an_invisible_stream_that_breaks_leaves_no_trace_at_the_client(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", (Head(200, EVENTS), role(), Fail(FailureKind.CLOSED)))
    rig.says("beta", (Head(200, EVENTS), C("b"), F("stop"), DONE))
    assert await rig.handle(rig.call(stream=True), client) == Streamed()
    assert b"assistant" not in client.body
    assert client.headers is not None
    assert dict(client.headers)["X-KTMS-Attempts"] == "alpha:closed, beta:ok"


async def test_a_status_sent_while_waiting_ends_in_an_error_event_when_nobody_answers(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", (Pause(11), Fail(FailureKind.CLOSED)))
    rig.says("beta", NOBODY)
    result = await rig.handle(rig.call(stream=True), client)
    assert isinstance(result, Streamed)
    assert client.body.count(b'"error"') == 1
    assert (client.ended, b"[DONE]" in client.body) == (True, False)


async def test_a_call_ends_at_its_deadline_whatever_the_targets_do() -> None:
    rig = await rig_of(settings=EngineSettings(call_total_s=100))
    for name in ("alpha", "beta"):
        rig.says(name, (Silence(),))
    began_at = rig.clock.monotonic()
    end = cause(await rig.handle(rig.call()))
    assert end.code == ErrorCode.UPSTREAM_TIMEOUT
    assert rig.clock.monotonic() - began_at == 100
    assert rig.dialled == ["alpha"], "nothing is begun after the deadline"


async def test_an_attempt_gets_no_more_time_than_the_call_has_left() -> None:
    models = tuple(replace(model, timeouts=TimeoutSpec(first_token_s=70)) for model in CATALOGUE.models)
    rig = await rig_of(settings=EngineSettings(call_total_s=100), catalogue=replace(CATALOGUE, models=models))
    for name in ("alpha", "beta"):
        rig.says(name, (Silence(),))
    began_at = rig.clock.monotonic()
    await rig.handle(rig.call())
    assert rig.clock.monotonic() - began_at == 100
    assert [exchange.request.timers.total_s for exchange in rig.upstream.exchanges] == [100, 30]


async def test_nothing_is_dialled_with_no_time_left_to_answer() -> None:
    models = tuple(replace(model, timeouts=TimeoutSpec(first_token_s=99.7)) for model in CATALOGUE.models)
    rig = await rig_of(settings=EngineSettings(call_total_s=100), catalogue=replace(CATALOGUE, models=models))
    for name in ("alpha", "beta"):
        rig.says(name, (Silence(),))
    await rig.handle(rig.call())
    assert rig.dialled == ["alpha"], "beta would have had 0.3 s"


async def test_our_own_deadline_is_not_held_against_a_target() -> None:
    rig = await rig_of(settings=EngineSettings(call_total_s=10))
    rig.says("alpha", *[(Silence(),)] * FAILURES_MAX, whole())
    for _ in range(FAILURES_MAX):
        assert cause(await rig.handle(rig.call())).code == ErrorCode.UPSTREAM_TIMEOUT
    assert isinstance(await rig.handle(rig.call()), Whole), "its breaker stayed closed"


async def test_every_attempt_is_one_usage_event(rig: Rig) -> None:
    for name in ("mac-1", "mac-2", "alpha"):
        rig.says(name, NOBODY)
    rig.says("beta", whole())
    await rig.handle(rig.call("mixed"))
    assert [event.status for event in rig.ledger.events] == [AttemptStatus.FAILED] * 3 + [AttemptStatus.OK]
    assert [event.node for event in rig.ledger.events] == ["mac-1", "mac-2", None, None]
    rig.assert_at_rest(calls=1)


async def test_the_model_of_a_chain_that_serves_is_the_one_told(rig: Rig) -> None:
    for name in ("alpha", "beta"):
        rig.says(name, NOBODY)
    rig.says("mac-1", whole())
    result = await rig.handle(rig.call("auto", placement=Placement.CLOUD_FIRST))
    assert isinstance(result, Whole)
    headers = dict(result.headers)
    assert (headers["X-KTMS-Model"], headers["X-KTMS-Chain"]) == ("homely", "auto")
    assert b'"homely"' in result.body


ROADS: dict[str, tuple[str, dict[str, Script]]] = {
    "whole": ("cloudy", {"alpha": whole()}),
    "second": ("cloudy", {"alpha": refusal(500), "beta": whole()}),
    "node": ("homely", {"mac-1": whole()}),
    "node then cloud": ("mixed", {"mac-1": NOBODY, "mac-2": refusal(503), "alpha": whole()}),
}


@pytest.mark.parametrize("road", ROADS)
async def test_a_lease_is_given_back_on_every_road(rig: Rig, road: str) -> None:
    model, scripts = ROADS[road]
    for name, script in scripts.items():
        rig.says(name, script)
    assert isinstance(await rig.handle(rig.call(model)), Whole)
    rig.assert_at_rest(calls=1)
