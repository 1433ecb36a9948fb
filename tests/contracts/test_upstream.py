"""What every implementation of the port `Upstream` must do; each has its stage (upstream_stage.py)."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin
from ktms.ports.upstream import Flow, Prologue, UpstreamFailed, UpstreamRequest
from tests.contracts.upstream_stage import STAGES, Act, Await, Cut, Head, Piece, Silence, Stage

GENEROUS = Timers(pool_s=20.0, connect_s=20.0, first_token_s=20.0, idle_s=20.0, total_s=30.0)
SHORT_S = 0.05
MIB = 1 << 20


@pytest.fixture(params=sorted(STAGES))
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    async with STAGES[request.param]() as stage:
        yield stage


@dataclass
class Sink:
    """Keeps what it is fed; `says` gives the answer to each piece in turn, the last one again and again."""

    says: tuple[Flow, ...] = (Flow.FLOWING,)
    text: bytes = b""
    feeds_total: int = 0

    def feed(self, data: bytes) -> Flow:
        assert data
        self.text += data
        self.feeds_total += 1
        return self.says[min(self.feeds_total, len(self.says)) - 1]


def ask(origin: Origin, body: bytes = b"{}", timers: Timers = GENEROUS) -> UpstreamRequest:
    return UpstreamRequest(origin, Prologue("POST", "/v1/chat/completions", ()), body, timers)


async def test_status_headers_and_body_come_as_the_vendor_gave_them(stage: Stage) -> None:
    head = Head(429, (("Retry-After", "7"), ("X-Twice", "1"), ("X-Twice", "2")))
    vendor = await stage.vendor((head, Piece(b"slow "), Piece(b"down")))
    got = await stage.upstream.send(ask(vendor.origin, b"question"))
    assert (got.status, got.header("retry-after"), got.header("x-twice")) == (429, "7", "1")
    assert got.header("absent") is None
    assert await got.read(MIB) == b"slow down"
    got.close()
    assert vendor.bodies == [b"question"]


async def test_redirects_are_not_followed(stage: Stage) -> None:
    vendor = await stage.vendor((Head(302, (("Location", "/elsewhere"),)),))
    got = await stage.upstream.send(ask(vendor.origin))
    assert got.status == 302
    got.close()
    assert len(vendor.bodies) == 1


async def test_one_exchange_follows_another(stage: Stage) -> None:
    vendor = await stage.vendor(*[(Head(), Piece(b"%d" % number)) for number in range(10)])
    for number in range(10):
        got = await stage.upstream.send(ask(vendor.origin))
        assert await got.read(MIB) == b"%d" % number
        got.close()


async def test_many_exchanges_run_at_once(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"same")))

    async def call() -> bytes:
        got = await stage.upstream.send(ask(vendor.origin))
        try:
            return await got.read(MIB)
        finally:
            got.close()

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(call()) for _ in range(50)]
    assert {task.result() for task in calls} == {b"same"}


async def test_a_body_over_the_cap_is_too_large(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"12345")))
    got = await stage.upstream.send(ask(vendor.origin))
    with pytest.raises(UpstreamFailed) as failed:
        await got.read(4)
    assert failed.value.kind is FailureKind.TOO_LARGE
    got.close()


async def test_a_sink_gets_the_body_and_pour_says_that_it_is_over(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"one "), Piece(b"two")))
    got = await stage.upstream.send(ask(vendor.origin))
    sink = Sink()
    assert await got.pour(sink) is True
    assert sink.text == b"one two"
    got.close()


async def test_the_next_piece_may_depend_on_the_last(stage: Stage) -> None:
    events = [asyncio.Event() for _ in range(3)]
    acts: list[Act] = [Head()]
    for event in events:
        acts += [Piece(b"x"), Await(event)]
    vendor = await stage.vendor(tuple(acts))

    class Releasing(Sink):
        def feed(self, data: bytes) -> Flow:
            events[self.feeds_total].set()
            return super().feed(data)

    got = await stage.upstream.send(ask(vendor.origin))
    sink = Releasing()
    assert await got.pour(sink)
    assert (sink.text, sink.feeds_total) == (b"xxx", 3)
    got.close()


async def test_choked_means_call_again(stage: Stage) -> None:
    go_on = asyncio.Event()
    vendor = await stage.vendor((Head(), Piece(b"one "), Await(go_on), Piece(b"two")))
    got = await stage.upstream.send(ask(vendor.origin))
    sink = Sink((Flow.CHOKED, Flow.FLOWING))
    assert await got.pour(sink) is False
    assert sink.text == b"one "
    go_on.set()
    assert await got.pour(sink) is True
    assert sink.text == b"one two"
    got.close()


async def test_enough_ends_the_exchange_for_the_caller_and_for_the_vendor(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"all"), Silence()))
    got = await stage.upstream.send(ask(vendor.origin))
    sink = Sink((Flow.ENOUGH,))
    assert await got.pour(sink) is True
    got.close()
    await vendor.gone.wait()
    assert sink.text == b"all"


async def test_a_cut_before_the_head_is_closed(stage: Stage) -> None:
    vendor = await stage.vendor((Cut(),))
    with pytest.raises(UpstreamFailed) as failed:
        await stage.upstream.send(ask(vendor.origin))
    assert failed.value.kind is FailureKind.CLOSED


async def test_a_cut_in_the_body_is_closed_and_what_came_was_fed(stage: Stage) -> None:
    fed = asyncio.Event()
    vendor = await stage.vendor((Head(), Piece(b"part"), Await(fed), Cut()))

    class Noting(Sink):
        def feed(self, data: bytes) -> Flow:
            fed.set()
            return super().feed(data)

    got = await stage.upstream.send(ask(vendor.origin))
    sink = Noting()
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(sink)
    assert (failed.value.kind, sink.text) == (FailureKind.CLOSED, b"part")
    got.close()


async def test_where_nobody_listens_is_refused(stage: Stage) -> None:
    with pytest.raises(UpstreamFailed) as failed:
        await stage.upstream.send(ask(stage.nobody()))
    assert failed.value.kind is FailureKind.REFUSED


@pytest.mark.parametrize(
    ("timers", "kind"),
    [
        (Timers(9.0, 9.0, SHORT_S, 9.0, 9.0), FailureKind.FIRST_TOKEN_TIMEOUT),
        (Timers(9.0, 9.0, 9.0, 9.0, SHORT_S), FailureKind.TOTAL_TIMEOUT),
    ],
)
async def test_silence_instead_of_a_head_runs_into_a_timer(
    stage: Stage, timers: Timers, kind: FailureKind
) -> None:
    vendor = await stage.vendor((Silence(),))
    with pytest.raises(UpstreamFailed) as failed:
        await stage.upstream.send(ask(vendor.origin, timers=timers))
    assert failed.value.kind is kind
    await vendor.gone.wait()


@pytest.mark.parametrize(
    ("says", "kind"),
    [(Flow.WAITING, FailureKind.FIRST_TOKEN_TIMEOUT), (Flow.FLOWING, FailureKind.IDLE_TIMEOUT)],
)
async def test_which_timer_runs_in_the_body_is_the_sinks_to_say(
    stage: Stage, says: Flow, kind: FailureKind
) -> None:
    vendor = await stage.vendor((Head(), Piece(b"x"), Silence()))
    timers = Timers(9.0, 9.0, 2 * SHORT_S, SHORT_S, 9.0)
    got = await stage.upstream.send(ask(vendor.origin, timers=timers))
    with pytest.raises(UpstreamFailed) as failed:
        await got.pour(Sink((says,)))
    assert failed.value.kind is kind
    await vendor.gone.wait()
    got.close()


async def test_cancelling_send_leaves_the_vendor_at_once(stage: Stage) -> None:
    vendor = await stage.vendor((Silence(),))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(stage.upstream.send(ask(vendor.origin)))
        async with asyncio.timeout(10):
            while True:
                if vendor.bodies:
                    break
                await asyncio.sleep(0)
        task.cancel()
    await vendor.gone.wait()


@pytest.mark.parametrize("reading", [True, False])
async def test_cancelling_the_body_leaves_the_vendor_at_once(stage: Stage, reading: bool) -> None:
    vendor = await stage.vendor((Head(), Piece(b"x"), Silence()))
    got = await stage.upstream.send(ask(vendor.origin))

    async def consume() -> None:
        await (got.read(MIB) if reading else got.pour(Sink()))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(consume())
        await asyncio.sleep(0)
        task.cancel()
    await vendor.gone.wait()
    got.close()


async def test_close_leaves_the_vendor_and_may_be_called_again(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"x"), Silence()))
    got = await stage.upstream.send(ask(vendor.origin))
    got.close()
    got.close()
    await vendor.gone.wait()


async def test_a_dropped_idle_connection_costs_no_call(stage: Stage) -> None:
    vendor = await stage.vendor((Head(), Piece(b"first")), (Cut(),), (Head(), Piece(b"second")))
    for expected in (b"first", b"second"):
        got = await stage.upstream.send(ask(vendor.origin, expected))
        assert await got.read(MIB) == expected
        got.close()
    assert vendor.bodies == [b"first", b"second", b"second"]


async def test_a_used_connection_that_dies_later_is_a_failure_of_the_target(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for adapter in ("upstream_http.exchange", "memory.upstream"):
        monkeypatch.setattr(f"ktms.adapters.{adapter}.STALE_WITHIN_S", 0.0)  # whatever comes is later
    vendor = await stage.vendor((Head(), Piece(b"first")), (Cut(),), (Head(), Piece(b"second")))
    got = await stage.upstream.send(ask(vendor.origin, b"first"))
    await got.read(MIB)
    got.close()
    with pytest.raises(UpstreamFailed) as failed:
        await stage.upstream.send(ask(vendor.origin, b"second"))
    assert failed.value.kind is FailureKind.CLOSED
    assert vendor.bodies == [b"first", b"second"]


async def test_failures_tell_no_address_and_no_content(stage: Stage) -> None:
    vendor = await stage.vendor((Cut(),))
    with pytest.raises(UpstreamFailed) as failed:
        await stage.upstream.send(ask(vendor.origin, b"secret"))
    for word in (vendor.origin.host, str(vendor.origin.port), "secret"):
        assert word not in str(failed.value)
    assert failed.value.detail in str(failed.value)


async def test_after_close_nothing_is_sent(stage: Stage) -> None:
    vendor = await stage.vendor((Head(),))
    await stage.upstream.close()
    with pytest.raises(UpstreamFailed):
        await stage.upstream.send(ask(vendor.origin))
    assert vendor.bodies == []
