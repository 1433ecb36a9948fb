import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.upstream import Head, Silence, Wait
from ktms.domain.errors import ErrorCode, Problem
from ktms.engine.call import Call, Failed, Result, Streamed, Whole
from ktms.engine.repeats import ANSWER_BYTES_MAX, END_WAIT_S, OWED_S, SWEEP_S
from ktms.ports.catalogue import StoreAway
from ktms.ports.repeats import KEPT_S, Begun, Kept, OtherBody, Repeatable, Running
from ktms.ports.telemetry import Dependency
from tests.engine.rig import EVENTS, Rig, refusal, stream, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import DONE, C


def keyed(rig: Rig, key: str = "order-7", **members: Any) -> Call:
    call = rig.call(**members)
    call.once = key
    return call


def rows(rig: Rig) -> int:
    assert rig.repeats is not None
    return len(rig.repeats)


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


@asynccontextmanager
async def beside(rig: Rig) -> AsyncIterator[asyncio.TaskGroup]:
    """Let the store be told what calls owe it; the group is for calls of the block."""
    async with asyncio.TaskGroup() as works:
        work = works.create_task(rig.keyed.run())
        async with asyncio.TaskGroup() as group:
            yield group
        work.cancel()


async def streamed(rig: Rig, call: Call) -> tuple[Result, MemoryClient]:
    client = MemoryClient()
    return await rig.handle(call, client), client


async def test_a_repeat_gets_the_first_answer_and_nobody_is_asked(rig: Rig) -> None:
    rig.says("alpha", whole("first"), whole("second"))
    async with beside(rig):
        first, again = await rig.handle(keyed(rig)), await rig.handle(keyed(rig))
    assert isinstance(first, Whole)
    assert isinstance(again, Whole)
    assert again.body == first.body
    assert rig.dialled == ["alpha"]
    assert len(rig.ledger.events) == 1
    assert [record.replayed for record in rig.telemetry.calls] == [False, True]


async def test_a_repeat_has_an_id_of_its_own_and_says_what_it_is(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        first, again = await rig.handle(keyed(rig)), await rig.handle(keyed(rig))
    assert isinstance(first, Whole)
    assert isinstance(again, Whole)
    was, now = dict(first.headers), dict(again.headers)
    assert "Idempotency-Replayed" not in was
    assert now["Idempotency-Replayed"] == "true"
    assert now["X-Request-Id"] != was["X-Request-Id"]
    for name in ("X-KTMS-Model", "X-KTMS-Vendor", "X-KTMS-Attempts"):
        assert now[name] == was[name]


async def test_a_streamed_repeat_gets_the_same_bytes(rig: Rig) -> None:
    rig.says("alpha", stream("a", "b"))
    async with beside(rig):
        _, first = await streamed(rig, keyed(rig, stream=True))
        result, again = await streamed(rig, keyed(rig, stream=True))
    assert result == Streamed()
    assert again.body == first.body
    assert again.body.endswith(DONE)
    assert again.ended
    assert again.headers is not None
    assert dict(again.headers)["Idempotency-Replayed"] == "true"
    assert rig.dialled == ["alpha"]


async def test_while_the_first_one_runs_a_repeat_is_told_to_come_back(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    async with beside(rig) as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        end = cause(await rig.handle(keyed(rig)))
        gate.set()
    assert (end.code, end.status, bool(end.retry_after_s)) == (ErrorCode.IDEMPOTENCY_CONFLICT, None, True)
    assert isinstance(first.result(), Whole)
    assert rig.dialled == ["alpha"]


async def test_another_body_under_the_same_key_is_refused(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig))
        end = cause(await rig.handle(keyed(rig, seed=1)))
    assert (end.code, end.status, end.retry_after_s) == (ErrorCode.IDEMPOTENCY_CONFLICT, 422, None)


async def test_other_words_are_other_calls(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig, "one"))
        await rig.handle(keyed(rig, "two"))
    assert rig.dialled == ["alpha", "alpha"]


async def test_a_call_that_came_to_nothing_may_be_made_again_at_once(rig: Rig) -> None:
    rig.says("alpha", refusal(500), whole())
    rig.says("beta", refusal(500))
    async with beside(rig):
        assert isinstance(await rig.handle(keyed(rig)), Failed)
        assert isinstance(await rig.handle(keyed(rig)), Whole)


async def test_a_call_that_may_not_be_made_gives_its_key_up(rig: Rig) -> None:
    async with beside(rig):
        assert cause(await rig.handle(keyed(rig, model="no-such-model"))).code == ErrorCode.MODEL_NOT_FOUND
        assert rows(rig) == 0


async def test_a_stream_that_broke_may_be_asked_for_again(rig: Rig) -> None:
    rig.says("alpha", (Head(200, EVENTS), C("a")), stream("b"))
    async with beside(rig):
        result, _ = await streamed(rig, keyed(rig, stream=True))
        assert isinstance(result, Streamed)
        assert result.problem is not None
        again, client = await streamed(rig, keyed(rig, stream=True))
    assert again == Streamed()
    assert client.headers is not None
    assert "Idempotency-Replayed" not in dict(client.headers)


async def test_a_client_that_leaves_gives_its_key_up(rig: Rig) -> None:
    rig.says("alpha", (Silence(),), whole())
    async with beside(rig) as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        first.cancel()
        await settle()
        assert isinstance(await rig.handle(keyed(rig)), Whole)
    assert rig.dialled == ["alpha", "alpha"]


async def test_the_answer_of_a_client_that_left_when_it_was_complete_is_kept(rig: Rig) -> None:
    gate = asyncio.Event()
    slow = SlowRepeats(rig, gate)
    use(rig, slow)
    rig.says("alpha", stream("a"))
    async with beside(rig) as group:
        client = MemoryClient()
        first = group.create_task(rig.handle(keyed(rig, stream=True), client))
        await settle()
        assert client.ended
        first.cancel()
        gate.set()
        await settle()
        _, again = await streamed(rig, keyed(rig, stream=True))
    assert again.body == client.body
    assert rig.dialled == ["alpha"]


async def test_a_client_that_leaves_while_its_call_begins_gives_its_key_up(rig: Rig) -> None:
    gate = asyncio.Event()
    use(rig, SlowRepeats(rig, gate, begins=True))
    rig.says("alpha", whole())
    async with beside(rig) as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        first.cancel()
        gate.set()
        await settle()
        assert isinstance(await rig.handle(keyed(rig)), Whole)
    assert rig.dialled == ["alpha"]


async def test_a_client_that_leaves_does_not_wait_for_its_key_to_be_given_up(rig: Rig) -> None:
    """Nobody tells the store here."""
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        began = rig.clock.monotonic()
        first.cancel()
    assert rig.clock.monotonic() == began


async def test_a_call_that_began_though_nobody_could_say_so_gives_its_key_up(rig: Rig) -> None:
    use(rig, MuteRepeats(rig.store, rig.clock))
    async with beside(rig):
        assert cause(await rig.handle(keyed(rig))).code == ErrorCode.IDEMPOTENCY_UNAVAILABLE
        assert rows(rig) == 1
        await settle()
        assert rows(rig) == 0


async def test_where_nobody_can_tell_nothing_is_started(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig, "known key"))
        rig.store.away = True
        end = cause(await rig.handle(keyed(rig)))
        rig.store.away = False
        await after(OWED_S)
    assert (end.code, bool(end.retry_after_s)) == (ErrorCode.IDEMPOTENCY_UNAVAILABLE, True)
    assert rig.dialled == ["alpha"]
    assert (Dependency.POSTGRES, "begin_call", "away") in rig.telemetry.failures


async def test_a_client_gets_its_answer_though_it_cannot_be_kept(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    async with beside(rig) as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        rig.store.away = True
        gate.set()
        await settle()
        assert isinstance(first.result(), Whole)
        assert (Dependency.POSTGRES, "end_call", "away") in rig.telemetry.failures
        rig.store.away = False
        assert cause(await rig.handle(keyed(rig))).code == ErrorCode.IDEMPOTENCY_CONFLICT
        await after(OWED_S / 2)
        assert isinstance(await rig.handle(keyed(rig)), Whole), "the store was told when it was back"
    assert rig.dialled == ["alpha"]


async def test_a_store_that_is_away_for_long_is_told_no_more(rig: Rig) -> None:
    gate = asyncio.Event()
    rig.says("alpha", (Wait(gate), *whole()))
    async with beside(rig) as group:
        group.create_task(rig.handle(keyed(rig)))
        await settle()
        rig.store.away = True
        gate.set()
        await after(2 * OWED_S)
        rig.store.away = False
        await after(OWED_S)
        assert cause(await rig.handle(keyed(rig))).code == ErrorCode.IDEMPOTENCY_CONFLICT


async def test_a_client_waits_for_its_answer_to_be_kept_only_so_long(rig: Rig) -> None:
    use(rig, SlowRepeats(rig, asyncio.Event()))
    rig.says("alpha", whole())
    async with beside(rig):
        began = rig.clock.monotonic()
        assert isinstance(await rig.handle(keyed(rig)), Whole)
        assert rig.clock.monotonic() - began == END_WAIT_S


async def test_an_answer_that_is_too_large_is_remembered_without_its_text(rig: Rig) -> None:
    rig.says("alpha", whole("x" * ANSWER_BYTES_MAX))
    async with beside(rig):
        await rig.handle(keyed(rig))
        end = cause(await rig.handle(keyed(rig)))
    assert (end.code, end.status, end.retry_after_s) == (ErrorCode.IDEMPOTENCY_CONFLICT, None, None)
    assert rig.dialled == ["alpha"]


async def test_a_stream_that_is_too_large_is_remembered_without_its_text(rig: Rig) -> None:
    rig.says("alpha", stream(*("x" * (ANSWER_BYTES_MAX // 4),) * 5))
    async with beside(rig):
        await streamed(rig, keyed(rig, stream=True))
        end = cause((await streamed(rig, keyed(rig, stream=True)))[0])
    assert end.code == ErrorCode.IDEMPOTENCY_CONFLICT
    assert rig.dialled == ["alpha"]


async def test_a_large_stream_that_broke_may_be_asked_for_again(rig: Rig) -> None:
    large = C("x" * (ANSWER_BYTES_MAX // 4))
    rig.says("alpha", (Head(200, EVENTS), *(large,) * 5), stream("whole"))
    async with beside(rig):
        await streamed(rig, keyed(rig, stream=True))
        _, again = await streamed(rig, keyed(rig, stream=True))
    assert again.body.endswith(DONE)
    assert rig.dialled == ["alpha", "alpha"]


async def test_an_answer_that_cannot_be_read_any_more_is_not_made_again(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        call = keyed(rig)
        await rig.handle(call)
        assert rig.repeats is not None
        next(iter(rig.repeats._rows.values())).answer = b"of another form"
        assert cause(await rig.handle(keyed(rig))).code == ErrorCode.IDEMPOTENCY_CONFLICT


async def test_an_answer_can_be_had_for_a_day_and_then_the_key_is_free(rig: Rig) -> None:
    rig.says("alpha", whole("first"), whole("second"))
    async with beside(rig):
        await rig.handle(keyed(rig))
        await after(KEPT_S - 1)
        replay = await rig.handle(keyed(rig))
        await after(2)
        later = await rig.handle(keyed(rig))
    assert isinstance(replay, Whole)
    assert isinstance(later, Whole)
    assert b"first" in replay.body
    assert b"second" in later.body


async def test_what_is_over_is_removed(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig))
        await after(KEPT_S - SWEEP_S)
        assert rows(rig) == 1
        await after(2 * SWEEP_S)
        assert rows(rig) == 0


async def test_what_is_over_stays_while_the_stores_are_away(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig))
        await after(KEPT_S)
        rig.store.away = True
        await after(2 * SWEEP_S)
        assert (Dependency.POSTGRES, "forget_repeats", "away") in rig.telemetry.failures
        rig.store.away = False
        await after(2 * SWEEP_S)
        assert rows(rig) == 0


async def test_a_repeat_of_a_kept_answer_needs_neither_model_nor_limit(rig: Rig) -> None:
    rig.says("alpha", whole())
    async with beside(rig):
        await rig.handle(keyed(rig))
        rig.current.snapshot = None
        assert isinstance(await rig.handle(keyed(rig)), Whole)


async def test_a_drain_that_cuts_a_call_gives_its_key_up(rig: Rig) -> None:
    rig.says("alpha", (Silence(),))
    async with beside(rig) as group:
        first = group.create_task(rig.handle(keyed(rig)))
        await settle()
        rig.drain.close()
        rig.drain.cut()
        await settle()
        assert cause(first.result()).code == ErrorCode.DRAINING
        assert rows(rig) == 0


class MuteRepeats(MemoryRepeats):
    """A store that does what it is asked and cannot say so."""

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        await super().begin(call)
        raise StoreAway("the answer was lost")


class SlowRepeats(MemoryRepeats):
    """A store that keeps answers, or begins calls, when the test opens the gate."""

    def __init__(self, rig: Rig, gate: asyncio.Event, *, begins: bool = False) -> None:
        super().__init__(rig.store, rig.clock)
        self._gate = gate
        self._begins = begins

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        begun = await super().begin(call)
        if self._begins:
            await self._gate.wait()
        return begun

    async def keep(self, call: Repeatable, answer: bytes | None) -> None:
        if not self._begins:
            await self._gate.wait()
        await super().keep(call, answer)


def use(rig: Rig, repeats: MemoryRepeats) -> None:
    rig.repeats = repeats
    rig.keyed._means = type(rig.keyed._means)(repeats, rig.slots, rig.clock, rig.telemetry, 720.0)
