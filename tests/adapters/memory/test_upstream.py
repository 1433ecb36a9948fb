"""What the contract does not say: the books a memory upstream keeps, and what a script may hold."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterator

import pytest

from ktms.adapters.memory.upstream import (
    NOBODY,
    Fail,
    Head,
    MemoryUpstream,
    Pause,
    Script,
    Silence,
    State,
    Step,
    Wait,
)
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Flow, Prologue, UpstreamFailed, UpstreamRequest

ORIGIN = Origin("http", "vendor.example", 80, "", Reach.PUBLIC)
TIMERS = Timers(pool_s=9, connect_s=9, first_token_s=9, idle_s=9, total_s=9)


class Sink:
    def __init__(self, *says: Flow) -> None:
        self._says = list(says)
        self.pieces: list[bytes] = []

    def feed(self, data: bytes) -> Flow:
        self.pieces.append(data)
        return self._says.pop(0) if self._says else Flow.FLOWING


def upstream_of(*scripts: Script) -> MemoryUpstream:
    left = list(scripts)
    return MemoryUpstream(lambda _: left.pop(0) if len(left) > 1 else left[0])


def ask(timers: Timers = TIMERS) -> UpstreamRequest:
    return UpstreamRequest(ORIGIN, Prologue("POST", "/v1/chat/completions", ()), b"{}", timers)


def states(upstream: MemoryUpstream) -> list[State]:
    return [exchange.state for exchange in upstream.exchanges]


async def test_pieces_are_never_joined() -> None:
    got = await upstream_of((Head(), b"a", b"b", b"c")).send(ask())
    sink = Sink()
    assert await got.pour(sink)
    assert sink.pieces == [b"a", b"b", b"c"]


@pytest.mark.parametrize(("script", "says"), [((Head(), b"a"), ()), ((Head(), b"a"), (Flow.ENOUGH,))])
async def test_an_answer_taken_to_its_end_is_complete(script: Script, says: tuple[Flow, ...]) -> None:
    upstream = upstream_of(script)
    got = await upstream.send(ask())
    assert states(upstream) == [State.OPEN]
    await got.pour(Sink(*says))
    got.close()
    assert states(upstream) == [State.COMPLETE]


async def test_an_answer_that_was_not_taken_to_its_end_is_given_up() -> None:
    upstream = upstream_of((Head(), b"a", b"b"))
    for says in (Flow.ENOUGH, Flow.CHOKED):
        got = await upstream.send(ask())
        await got.pour(Sink(says))
        got.close()
    assert states(upstream) == [State.GIVEN_UP] * 2


async def test_a_failure_is_told_again_to_whoever_asks_again() -> None:
    got = await upstream_of((Head(), Fail(FailureKind.CLOSED))).send(ask())
    for _ in range(2):
        with pytest.raises(UpstreamFailed, match="closed"):
            await got.pour(Sink())


async def test_a_pause_takes_its_time_and_no_more() -> None:
    got = await upstream_of((Pause(0.01), Head(), Pause(0.01), b"a")).send(ask())
    assert await got.read(10) == b"a"


async def test_a_pause_beyond_a_timer_runs_into_it() -> None:
    short = Timers(9, 9, 9, 0.01, 9)
    got = await upstream_of((Head(), b"a", Pause(5), b"b")).send(ask(short))
    with pytest.raises(UpstreamFailed) as failed:
        await got.read(10)
    assert failed.value.kind is FailureKind.IDLE_TIMEOUT


async def test_timers_stand_still_while_the_sink_is_choked() -> None:
    gate = asyncio.Event()
    got = await upstream_of((Head(), b"a", Wait(gate), b"b")).send(ask(Timers(9, 9, 0.05, 0.05, 9)))
    assert not await got.pour(Sink(Flow.CHOKED))
    loop = asyncio.get_running_loop()
    choked = loop.create_future()
    loop.call_later(0.1, choked.set_result, None)
    await choked
    gate.set()
    assert await got.pour(Sink())


@pytest.mark.parametrize("script", [(Silence(),), (Head(), Silence())])
async def test_closing_fails_whoever_waits(script: Script) -> None:
    upstream = upstream_of(script)

    async def read() -> None:
        await (await upstream.send(ask())).read(10)

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_failure(read()))
        for _ in range(5):
            await asyncio.sleep(0)
        await upstream.close()
    assert waiting.result() is FailureKind.CLOSED
    assert upstream.open_total == 0


async def test_where_nobody_listens_there_is_an_exchange_all_the_same() -> None:
    upstream = upstream_of(NOBODY)
    with pytest.raises(UpstreamFailed):
        await upstream.send(ask())
    assert states(upstream) == [State.GIVEN_UP]


async def test_a_script_without_a_head_is_our_mistake() -> None:
    with pytest.raises(AssertionError):
        await upstream_of((b"a",)).send(ask())


class Telling:
    """A script that is advanced step by step, and notes how far it came and how often it was closed."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.taken = 0
        self.closed = 0

    def __call__(self, _: UpstreamRequest) -> Iterator[Step]:
        try:
            for step in self.steps:
                self.taken += 1
                yield step
        finally:
            self.closed += 1


async def test_a_script_is_advanced_only_as_far_as_it_is_carried_out() -> None:
    telling = Telling(Head(), b"a", b"b", b"c")
    got = await MemoryUpstream(telling).send(ask())
    assert telling.taken == 1
    assert not await got.pour(Sink(Flow.CHOKED))
    assert telling.taken == 2
    got.close()
    assert (telling.taken, telling.closed) == (2, 1)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        ((Head(), b"a"), Flow.FLOWING),
        ((Head(), b"a"), Flow.ENOUGH),
        ((Head(), b"a", b"b"), Flow.ENOUGH),
        ((Head(), Fail(FailureKind.CLOSED), b"a"), Flow.FLOWING),
        ((Head(), Silence(), b"a"), Flow.FLOWING),
    ],
)
async def test_a_script_is_closed_once_however_its_exchange_ends(steps: tuple[Step, ...], says: Flow) -> None:
    telling = Telling(*steps)
    upstream = MemoryUpstream(telling)
    got = await upstream.send(ask(Timers(9, 9, 0.01, 0.01, 9)))
    with contextlib.suppress(UpstreamFailed):
        await got.pour(Sink(says))
    got.close()
    await upstream.close()
    assert telling.closed == 1


async def test_a_script_is_closed_when_its_caller_is_cancelled() -> None:
    telling = Telling(Silence())
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(MemoryUpstream(telling).send(ask()))
        await asyncio.sleep(0)
        asking.cancel()
    assert telling.closed == 1


async def test_ended_exchanges_are_forgotten_where_nobody_looks_at_them() -> None:
    upstream = MemoryUpstream(lambda _: (Head(), b"a"), keeps_ended=False)
    first, second = await upstream.send(ask()), await upstream.send(ask())
    await first.read(10)
    assert (len(upstream.exchanges), upstream.open_total) == (1, 1)
    second.close()
    assert upstream.exchanges == []


async def test_a_cut_ends_the_exchanges_of_one_origin_and_no_others() -> None:
    upstream = upstream_of((Head(), Silence()))
    other = UpstreamRequest(Origin("http", "other.example", 80, "", Reach.PUBLIC), ask().prologue, b"{}", TIMERS)
    cut, spared = await upstream.send(ask()), await upstream.send(other)
    upstream.cut(ORIGIN.key)
    assert states(upstream) == [State.GIVEN_UP, State.OPEN]
    assert await _failure(cut.pour(Sink())) is FailureKind.CLOSED
    spared.close()


async def _failure(work: Coroutine[None, None, object]) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await work
    return failed.value.kind
