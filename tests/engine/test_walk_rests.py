"""What a walk sets aside: keys and targets that rest, vendors whose breaker is open, machines that failed."""

import asyncio
from dataclasses import replace

import pytest

from ktms.adapters.memory.upstream import Fail, Head, Pause, Script, Silence
from ktms.domain.capacity.node_health import FAILURES_MAX as NODE_FAILURES_MAX
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.routing.breaker import FAILURES_MAX, OPEN_S
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.call import Failed, Result, Whole
from ktms.engine.ending import NODE_WAIT_S
from ktms.ports.telemetry import Dependency
from tests.engine.rig import CATALOGUE, EVENTS, Rig, refusal, rig_of, stream, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import C


def story(result: Result) -> str:
    assert isinstance(result, Whole | Failed)
    return dict(result.headers).get("X-KTMS-Attempts", "")


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


def keys_sent(rig: Rig) -> list[str]:
    return [
        dict(exchange.request.prologue.headers)["Authorization"].removeprefix("Bearer sk-")
        for exchange in rig.upstream.exchanges
    ]


async def test_a_429_rests_its_key_and_the_next_call_uses_another(rig: Rig) -> None:
    rig.says("alpha", refusal(429, retry_after="30"), whole())
    rig.says("beta", whole())
    await rig.handle(rig.call())
    await rig.handle(rig.call())
    await after(31)
    await rig.handle(rig.call())
    assert rig.dialled == ["alpha", "beta", "alpha", "alpha"]
    assert [key for key in keys_sent(rig) if "alpha" in key] == [
        "alpha-key-one",
        "alpha-key-two",
        "alpha-key-one",
    ]


async def test_a_vendor_whose_keys_all_rest_is_passed_over(rig: Rig) -> None:
    rig.says("alpha", refusal(429, retry_after="30"))
    rig.says("beta", whole())
    for _ in range(2):
        await rig.handle(rig.call())
    result = await rig.handle(rig.call())
    assert story(result) == "alpha:resting, beta:ok"


async def test_when_all_rest_the_soonest_end_is_told(rig: Rig) -> None:
    rig.says("alpha", refusal(429, retry_after="30"))
    rig.says("beta", refusal(429, retry_after="20"))
    for _ in range(2):
        await rig.handle(rig.call())
    end = cause(await rig.handle(rig.call()))
    assert end.code == ErrorCode.NO_TARGET_AVAILABLE
    assert end.retry_after_s == 20
    assert "alpha:resting, beta:resting" in end.message


async def test_a_429_is_no_failure_of_its_vendor(rig: Rig) -> None:
    rig.says("alpha", refusal(429, retry_after="0"))
    rig.says("beta", whole())
    for _ in range(3 * FAILURES_MAX):
        await rig.handle(rig.call())
    assert rig.dialled.count("alpha") == 3 * FAILURES_MAX


async def test_a_503_that_says_when_rests_that_target_alone(rig: Rig) -> None:
    rig.says("alpha", refusal(503, retry_after="30"), whole())
    rig.says("beta", whole())
    await rig.handle(rig.call())
    assert story(await rig.handle(rig.call())) == "alpha:resting, beta:ok"
    await after(31)
    assert story(await rig.handle(rig.call())) == "alpha:ok"


async def test_a_vendor_without_keys_rests_as_a_target(rig: Rig) -> None:
    vendors = (replace(CATALOGUE.vendors[0], keys=()), CATALOGUE.vendors[1])
    rig = await rig_of(catalogue=replace(CATALOGUE, vendors=vendors))
    rig.says("alpha", refusal(429, retry_after="30"))
    rig.says("beta", whole())
    await rig.handle(rig.call())
    assert story(await rig.handle(rig.call())) == "alpha:resting, beta:ok"


async def test_a_refused_key_is_set_aside_with_an_alarm(rig: Rig) -> None:
    rig.says("alpha", refusal(401, "bad key sk-alpha-key-one"), whole())
    rig.says("beta", whole())
    await rig.handle(rig.call())
    await rig.handle(rig.call())
    assert keys_sent(rig)[-1] == "alpha-key-two"
    alarms = [event for event in rig.telemetry.events if event.name == "vendor_key_refused"]
    assert [(alarm.level, alarm.facts["vendor"], alarm.facts["replaced"]) for alarm in alarms] == [
        ("error", "alpha", "True")
    ]
    assert "sk-alpha" not in repr(rig.telemetry)
    assert (Dependency.VENDOR, "alpha", "credential_refused") in rig.telemetry.failures


async def test_the_last_refused_key_stays_in_use_and_the_client_hears_no_401(rig: Rig) -> None:
    rig.says("alpha", refusal(401))
    rig.says("beta", refusal(403))
    for _ in range(3):
        end = cause(await rig.handle(rig.call()))
        assert (end.code, end.status) == (ErrorCode.UPSTREAM_AUTH_ERROR, None)
    assert keys_sent(rig) == [
        "alpha-key-one",
        "beta-key",
        "alpha-key-two",
        "beta-key",
        "alpha-key-two",
        "beta-key",
    ]


async def test_failures_in_a_row_take_a_vendor_out_of_the_walk(rig: Rig) -> None:
    rig.says("alpha", refusal(500))
    rig.says("beta", whole())
    for _ in range(FAILURES_MAX):
        await rig.handle(rig.call())
    assert story(await rig.handle(rig.call())) == "alpha:open, beta:ok"
    assert rig.dialled.count("alpha") == FAILURES_MAX


async def test_one_trial_brings_a_vendor_back(rig: Rig) -> None:
    rig.says("alpha", *[refusal(500)] * FAILURES_MAX, (Pause(1), *whole()))
    rig.says("beta", whole())
    for _ in range(FAILURES_MAX):
        await rig.handle(rig.call())
    await after(OPEN_S)
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(rig.handle(rig.call()))
        await settle()
        assert rig.dialled.count("alpha") == FAILURES_MAX + 1
    assert story(await rig.handle(rig.call())) == "alpha:ok"


def _begun() -> Script:
    """A stream that says something and then takes its time."""
    head, first, *_ = stream("a")
    return (head, first, Silence())


async def test_a_trial_whose_stream_has_begun_keeps_nobody_out(rig: Rig) -> None:
    rig.says("alpha", *[refusal(500)] * FAILURES_MAX, _begun(), whole())
    rig.says("beta", whole())
    for _ in range(FAILURES_MAX):
        await rig.handle(rig.call())
    await after(OPEN_S)
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(rig.handle(rig.call(stream=True)))
        await settle()
        assert story(await rig.handle(rig.call())) == "alpha:ok"
        trial.cancel()


@pytest.mark.parametrize("end", ["left", "mistake"])
async def test_a_trial_that_ends_without_a_verdict_is_given_back(
    rig: Rig, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.says("alpha", *[refusal(500)] * FAILURES_MAX, (Silence(),) if end == "left" else whole(), whole())
    rig.says("beta", whole())
    for _ in range(FAILURES_MAX):
        await rig.handle(rig.call())
    await after(OPEN_S)
    if end == "left":
        async with asyncio.TaskGroup() as group:
            trial = group.create_task(rig.handle(rig.call()))
            await settle()
            trial.cancel()
    else:
        with monkeypatch.context() as patch:
            patch.setattr("ktms.engine.attempt.read_answer", lambda *_, **__: 1 / 0)
            assert cause(await rig.handle(rig.call())).code == ErrorCode.INTERNAL_ERROR
    assert story(await rig.handle(rig.call())) == "alpha:ok"


async def test_a_client_that_leaves_counts_for_no_breaker(rig: Rig) -> None:
    rig.says("alpha", (Silence(),))
    for _ in range(2 * FAILURES_MAX):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(rig.handle(rig.call()))
            await settle()
            call.cancel()
    rig.says("alpha", whole())
    assert story(await rig.handle(rig.call())) == "alpha:ok"


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_clients_fault_counts_for_no_breaker(rig: Rig, status: int) -> None:
    rig.says("alpha", refusal(status))
    for _ in range(2 * FAILURES_MAX):
        await rig.handle(rig.call())
    assert len(rig.dialled) == 2 * FAILURES_MAX


@pytest.mark.parametrize("kind", [FailureKind.POOL_TIMEOUT, FailureKind.ADDRESS_REFUSED, FailureKind.TOO_LARGE])
async def test_our_own_limits_count_for_no_breaker(rig: Rig, kind: FailureKind) -> None:
    rig.says("alpha", (Fail(kind),))
    rig.says("beta", whole())
    for _ in range(2 * FAILURES_MAX):
        await rig.handle(rig.call())
    assert rig.dialled.count("alpha") == 2 * FAILURES_MAX


async def test_a_stream_that_breaks_counts_for_the_breaker(rig: Rig) -> None:
    rig.says("alpha", (Head(200, EVENTS), C("a"), Fail(FailureKind.CLOSED)))
    rig.says("beta", stream("b"))
    for _ in range(FAILURES_MAX):
        await rig.handle(rig.call(stream=True))
    await rig.handle(rig.call(stream=True))
    assert rig.dialled[-1] == "beta"


async def test_a_machine_that_failed_is_asked_last(rig: Rig) -> None:
    rig.says("mac-1", refusal(500))
    rig.says("mac-2", whole())
    await rig.handle(rig.call("homely"))
    for _ in range(5):
        assert story(await rig.handle(rig.call("homely"))) == "local/mac-2:ok"
    assert rig.dialled.count("mac-1") == 1


async def test_a_machine_that_is_down_is_not_asked_even_where_it_is_the_only_one_free(rig: Rig) -> None:
    rig.says("mac-1", refusal(500))
    rig.says("mac-2", refusal(500))
    rig.says("alpha", whole())
    for _ in range(NODE_FAILURES_MAX):
        await rig.handle(rig.call("mixed"))
    assert story(await rig.handle(rig.call("mixed"))) == "local:down, alpha:ok"


@pytest.mark.parametrize("between", [refusal(400), refusal(429, retry_after="0"), whole()])
async def test_an_answer_of_any_kind_shows_that_a_vendor_lives(rig: Rig, between: Script) -> None:
    failures = [refusal(500)] * (FAILURES_MAX - 1)
    rig.says("alpha", *failures, between, *failures, whole())
    rig.says("beta", whole())
    for _ in range(2 * FAILURES_MAX - 1):
        await rig.handle(rig.call())
    assert story(await rig.handle(rig.call())) == "alpha:ok"


async def test_machines_that_are_all_down_are_told_as_such_and_not_asked(rig: Rig) -> None:
    for name in ("mac-1", "mac-2"):
        rig.says(name, refusal(500))
    for _ in range(NODE_FAILURES_MAX):
        await rig.handle(rig.call("homely"))
    before = len(rig.dialled)
    end = cause(await rig.handle(rig.call("homely")))
    assert (end.code, end.retry_after_s) == (ErrorCode.NO_NODE_AVAILABLE, NODE_WAIT_S)
    assert "local:down" in end.message
    assert len(rig.dialled) == before


async def test_a_credential_that_a_vendor_repeats_is_not_passed_on(rig: Rig) -> None:
    rig.says("alpha", refusal(400, "your key sk-alpha-key-one may not do that"))
    end = cause(await rig.handle(rig.call()))
    assert end.status == 400
    assert "alpha-key-one" not in end.message
