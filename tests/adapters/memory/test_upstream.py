"""What the contract does not say: the books a memory upstream keeps, and what a script may hold."""

import asyncio
from collections.abc import Coroutine

import pytest

from ktms.adapters.memory.upstream import NOBODY, Fail, Head, MemoryUpstream, Pause, Script, Silence, State, Wait
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


async def _failure(work: Coroutine[None, None, None]) -> FailureKind:
    with pytest.raises(UpstreamFailed) as failed:
        await work
    return failed.value.kind
