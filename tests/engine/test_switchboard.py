import asyncio

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.upstream import Head, Silence, Wait
from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.call import Route
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.loop_watch import BEHIND_LOOKS, BEHIND_S
from ktms.engine.settings import EngineSettings
from ktms.ports.telemetry import Count
from tests.engine.rig import EVENTS, KEY, TEST, Rig, policy, refusal, rig_of, stream, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import C


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


async def test_an_answer_carries_what_was_decided(rig: Rig) -> None:
    rig.says("alpha", whole())
    call = rig.call("default")
    result = await rig.handle(call)
    assert isinstance(result, Whole)
    headers = dict(result.headers)
    assert headers["X-Request-Id"] == call.request_id
    assert (headers["X-KTMS-Model"], headers["X-KTMS-Vendor"]) == ("cloudy", "alpha")
    assert (headers["X-KTMS-Placement"], headers["X-KTMS-Attempts"]) == ("nodes_first", "alpha:ok")


async def test_a_streamed_answer_carries_what_was_decided(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", refusal(500))
    rig.says("beta", stream("a"))
    assert await rig.handle(rig.call(stream=True), client) == Streamed()
    assert client.headers is not None
    headers = dict(client.headers)
    assert (headers["X-KTMS-Vendor"], headers["X-KTMS-Attempts"]) == ("beta", "alpha:500, beta:ok")


async def test_a_bad_key_is_refused_before_anything_else(rig: Rig) -> None:
    assert cause(await rig.handle(rig.call("no-such-model", token="ktms_sk_x"))).code == ErrorCode.INVALID_API_KEY
    rig.assert_at_rest(calls=1)


async def test_a_failure_carries_the_id_of_its_call(rig: Rig) -> None:
    call = rig.call("no-such-model")
    result = await rig.handle(call)
    assert isinstance(result, Failed)
    assert dict(result.headers)["X-Request-Id"] == call.request_id
    assert result.problem.code == ErrorCode.MODEL_NOT_FOUND


async def test_without_a_configuration_a_call_may_come_back(rig: Rig) -> None:
    rig.current.snapshot = None
    end = cause(await rig.handle(rig.call()))
    assert (end.code, bool(end.retry_after_s)) == (ErrorCode.CONFIG_UNAVAILABLE, True)


async def test_a_call_keeps_the_plan_it_began_with(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *refusal(500)))
    rig.says("beta", whole("from the old plan"))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call()))
        await settle()
        await rig.config.apply(policy(attempts_max=1), actor=TEST, prune=False, dry_run=False)
        rig.current.swap(await rig.catalogue_store.snapshot())
        gate.set()
    assert isinstance(call.result(), Whole)
    assert isinstance(await rig.handle(rig.call()), Failed), "the next call has the new one"


async def test_our_own_mistake_is_a_500_without_a_word_of_it(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("the secret prompt was: hi")

    monkeypatch.setattr("ktms.engine.attempt.read_answer", broken)
    rig.says("alpha", whole())
    end = cause(await rig.handle(rig.call()))
    assert (end.code, end.status) == (ErrorCode.INTERNAL_ERROR, None)
    assert "secret" not in end.message
    (event,) = rig.telemetry.events
    assert (event.name, event.facts["kind"]) == ("internal_error", "ValueError")
    assert "engine/attempt.py:" in str(event.facts["where"])
    assert "secret" not in repr(rig.telemetry)
    rig.assert_at_rest(calls=1)


async def test_our_own_mistake_in_a_stream_is_an_error_event(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    client = MemoryClient()
    rig.says("alpha", (Head(200, EVENTS), C("a"), C("b")))
    monkeypatch.setattr("ktms.engine.attempt.judge_failure", lambda *_, **__: 1 / 0)
    result = await rig.handle(rig.call(stream=True), client)
    assert isinstance(result, Streamed)
    assert result.problem is not None
    assert result.problem.code == ErrorCode.INTERNAL_ERROR
    assert (client.ended, client.body.count(b'"error"')) == (True, 1)
    rig.assert_at_rest(calls=1)


async def test_calls_beyond_the_bound_are_refused_early() -> None:
    rig = await rig_of(settings=EngineSettings(inflight_max=2))
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(rig.handle(rig.call())) for _ in range(2)]
        await settle()
        assert not any(call.done() for call in running), "as many as the bound are taken"
        end = cause(await rig.handle(rig.call()))
        for call in running:
            call.cancel()
    assert (end.code, bool(end.retry_after_s)) == (ErrorCode.OVERLOADED, True)
    assert rig.telemetry.labelled[Count.CALLS_SHED, "calls"] == 1
    rig.assert_at_rest(calls=3)


async def test_fg6_a_loop_far_behind_takes_no_calls_until_it_is_in_time_again(rig: Rig) -> None:
    rig.says("alpha", whole())
    for _ in range(BEHIND_LOOKS):
        rig.loop_watch.looked(BEHIND_S)
    end = cause(await rig.handle(rig.call()))
    rig.loop_watch.looked(0.0)
    assert (end.code, bool(end.retry_after_s)) == (ErrorCode.OVERLOADED, True)
    assert rig.telemetry.labelled[Count.CALLS_SHED, "loop"] == 1
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_a_client_that_leaves_is_booked_as_such(rig: Rig) -> None:
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call()))
        await settle()
        call.cancel()
    assert call.cancelled()
    (record,) = rig.telemetry.calls
    assert (record.status, record.cancelled) == (499, True)
    rig.assert_at_rest(calls=1)


async def test_a_replica_that_leaves_still_takes_calls(rig: Rig) -> None:
    rig.says("alpha", whole())
    rig.drain.leave()
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_a_closed_replica_sends_calls_elsewhere(rig: Rig) -> None:
    rig.drain.close()
    end = cause(await rig.handle(rig.call()))
    assert (end.code, bool(end.retry_after_s), rig.dialled) == (ErrorCode.DRAINING, True, [])


async def test_a_call_under_way_outlives_the_close(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *stream("a")))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call(stream=True)))
        await settle()
        rig.drain.close()
        gate.set()
    assert call.result() == Streamed()


async def test_a_stream_cut_by_the_drain_ends_in_one_error_event(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", (Head(200, EVENTS), C("a"), Silence()))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call(stream=True), client))
        await settle()
        rig.drain.close()
        rig.drain.cut()
    result = call.result()
    assert isinstance(result, Streamed)
    assert result.problem is not None
    assert result.problem.code == ErrorCode.DRAINING
    assert (client.ended, client.body.count(b'"error"'), b"[DONE]" in client.body) == (True, 1, False)
    assert rig.ledger.events[-1].status is AttemptStatus.CANCELLED
    rig.assert_at_rest(calls=1)


async def test_a_call_cut_before_anything_was_sent_gets_a_status(rig: Rig) -> None:
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call()))
        await settle()
        rig.drain.close()
        rig.drain.cut()
    assert cause(call.result()).code == ErrorCode.DRAINING
    rig.assert_at_rest(calls=1)


async def test_a_cut_call_ends_and_its_task_is_not_cancelled(rig: Rig) -> None:
    rig.says("alpha", (Silence(),))

    async def handler() -> int:
        await rig.handle(rig.call())
        await asyncio.sleep(0)
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    async with asyncio.TaskGroup() as group:
        call = group.create_task(handler())
        await settle()
        rig.drain.cut()
    assert call.result() == 0


async def test_a_key_lists_what_it_may_use(rig: Rig) -> None:
    listed = [one.id for one in await rig.switchboard.listing(KEY)]
    assert listed == ["cloudy", "homely", "mixed", "nowhere", "default", "auto"]


async def test_a_listing_needs_a_key_and_a_configuration(rig: Rig) -> None:
    with pytest.raises(CallFailed, match="invalid_api_key"):
        await rig.switchboard.listing("")
    rig.current.snapshot = None
    with pytest.raises(CallFailed, match="config_unavailable"):
        await rig.switchboard.listing(KEY)


async def test_a_request_refused_at_the_door_is_booked(rig: Rig) -> None:
    cause_told = problem(ErrorCode.REQUEST_TOO_LARGE, "no")
    rig.switchboard.refused_at_door(rig.identities.request(), Route.CHAT, cause_told, rig.clock.monotonic())
    assert [record.status for record in rig.telemetry.calls] == [413]


async def test_times_on_the_record_make_the_whole(rig: Rig) -> None:
    rig.says("alpha", whole())
    call = rig.call()
    await after(0.5)
    await rig.handle(call)
    (record,) = rig.telemetry.calls
    assert (record.total_s, record.upstream_s, record.queue_s) == (0.5, 0, 0)


async def test_an_ended_stream_gets_no_comment_afterwards(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", stream("a"))
    await rig.handle(rig.call(stream=True), client)
    written = len(client.pieces)
    await after(100)
    assert len(client.pieces) == written


async def test_a_call_whose_client_left_sends_no_comment_afterwards(rig: Rig) -> None:
    client = MemoryClient()
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call(stream=True), client))
        await settle()
        call.cancel()
    await after(100)
    assert client.headers is None


async def test_a_code_that_a_vendor_made_up_is_not_written_into_the_log(rig: Rig) -> None:
    body = b'{"error": {"message": "no", "code": "the_prompt_was_hi"}}'
    rig.says("alpha", (Head(422, ()), body))
    assert cause(await rig.handle(rig.call())).code == "the_prompt_was_hi"
    assert "the_prompt_was_hi" not in repr(rig.telemetry)
