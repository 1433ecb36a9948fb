import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.domain.access.usage_event import UsageEvent
from ktms.engine.outbox import BATCH_MAX, LINGER_S, PAUSE_FIRST_S, PAUSE_MAX_S, SEND_TIMEOUT_S, Outbox
from ktms.ports.telemetry import Count, Dependency, Gauge
from tests.engine.virtual_loop import after, settle
from tests.usage_events import usage_event


class WatchedLedger(MemoryLedger):
    """Notes when each batch came and how large it was; hangs while it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[tuple[float, int]] = []
        self.under_way = 0
        self.most_under_way = 0
        self.hangs = False
        self.forgets_to_answer = False

    async def send(self, events: Sequence[UsageEvent]) -> None:
        self.batches.append((asyncio.get_running_loop().time(), len(events)))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            if self.hangs:
                await asyncio.Event().wait()
            await super().send(events)
            if self.forgets_to_answer:
                await asyncio.Event().wait()
        finally:
            self.under_way -= 1


class Post:
    """An outbox with all that is around it."""

    def __init__(self, events_max: int = 10_000) -> None:
        self.ledger = WatchedLedger()
        self.spool = MemoryUsageSpool(events_max)
        self.telemetry = MemoryTelemetry()
        self.outbox = Outbox(self.ledger, self.spool, SeededEntropy("outbox"), self.telemetry)

    def record(self, numbers: range) -> None:
        for number in numbers:
            self.outbox.record(usage_event(number))

    @property
    def kept(self) -> list[int]:
        return [int(event.id[-6:], 16) for event in self.ledger.events]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.outbox.run())
            await settle()
            yield
            task.cancel()


@pytest.fixture
def post() -> Post:
    return Post()


async def test_an_event_is_sent_after_it_waited_for_company(post: Post) -> None:
    async with post.running():
        await after(LINGER_S / 3)  # what waits for a first event does not wait for company yet
        began_at = asyncio.get_running_loop().time()
        post.record(range(1))
        await after(LINGER_S / 2)
        post.record(range(1, 3))
        await after(LINGER_S)
    assert post.ledger.batches == [(began_at + LINGER_S, 3)]
    assert post.outbox.depth == 0


async def test_a_full_batch_waits_for_nobody(post: Post) -> None:
    async with post.running():
        post.record(range(BATCH_MAX))
        await settle()
        assert [size for _, size in post.ledger.batches] == [BATCH_MAX]


async def test_a_batch_that_fills_up_while_it_waits_for_company_goes_at_once(post: Post) -> None:
    async with post.running():
        post.record(range(1))
        await settle()
        post.record(range(1, BATCH_MAX))
        await settle()
        assert [size for _, size in post.ledger.batches] == [BATCH_MAX]


async def test_many_events_go_in_batches_one_at_a_time_and_in_order(post: Post) -> None:
    async with post.running():
        post.record(range(3 * BATCH_MAX + 7))
        await after(1.0)
    assert [size for _, size in post.ledger.batches] == [BATCH_MAX] * 3 + [7]
    assert post.ledger.most_under_way == 1
    assert post.kept == list(range(3 * BATCH_MAX + 7))


async def test_a_ledger_that_is_away_gets_everything_when_it_is_back(post: Post) -> None:
    post.ledger.away = "away"
    async with post.running():
        post.record(range(10))
        await after(60.0)
        post.ledger.away = None
        await after(PAUSE_MAX_S + 1)
    assert post.kept == list(range(10))


async def test_it_is_asked_ever_more_seldom_while_it_is_away(post: Post) -> None:
    post.ledger.away = "away"
    async with post.running():
        post.record(range(1))
        await after(120.0)
    pauses = [later - sooner - LINGER_S for (sooner, _), (later, _) in pairwise(post.ledger.batches)]
    longest = [min(PAUSE_FIRST_S * 2**number, PAUSE_MAX_S) for number in range(len(pauses))]
    assert len(pauses) > 120.0 / (PAUSE_MAX_S + LINGER_S)
    assert all(most / 2 <= pause < most + 1e-6 for pause, most in zip(pauses, longest, strict=True))


async def test_one_send_lasts_no_longer_than_it_may(post: Post) -> None:
    post.ledger.hangs = True
    async with post.running():
        post.record(range(1))
        await after(LINGER_S + SEND_TIMEOUT_S + 0.1)
        assert post.telemetry.failures == [(Dependency.LEDGER, "send", "timeout")]
        post.ledger.hangs = False
        await after(1.0)
    assert post.kept == [0]


async def test_a_batch_whose_answer_was_lost_is_sent_again_and_kept_once(post: Post) -> None:
    post.ledger.forgets_to_answer = True
    async with post.running():
        post.record(range(3))
        await after(LINGER_S + SEND_TIMEOUT_S + 0.1)
        post.ledger.forgets_to_answer = False
        await after(1.0)
    assert (post.kept, len(post.ledger.batches), post.outbox.depth) == ([0, 1, 2], 2, 0)


async def test_recording_never_waits_and_beyond_the_bound_the_oldest_are_counted() -> None:
    post = Post(events_max=10)
    post.record(range(25))
    assert post.telemetry.counts[Count.USAGE_DROPPED] == 15
    assert [int(event.id[-6:], 16) for event in post.spool.events] == list(range(15, 25))


async def test_every_event_is_kept_or_counted_whatever_the_ledger_does() -> None:
    post = Post(events_max=700)
    post.ledger.away = "away"
    async with post.running():
        post.record(range(1000))
        await after(1.0)
        post.record(range(1000, 1200))
        post.ledger.away = None
        await after(20.0)
    assert len(post.kept) + post.telemetry.counts[Count.USAGE_DROPPED] == 1200


async def test_a_flush_sends_all_that_is_left(post: Post) -> None:
    post.record(range(BATCH_MAX + 1))
    await post.outbox.flush()
    assert len(post.kept) == BATCH_MAX + 1


async def test_a_flush_asks_again_until_its_caller_gives_up(post: Post) -> None:
    post.ledger.away = "away"
    post.record(range(1))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2.0):
            await post.outbox.flush()
    assert len(post.ledger.batches) > 5


async def test_a_flush_and_the_running_outbox_take_turns(post: Post) -> None:
    async with post.running():
        post.record(range(5 * BATCH_MAX))
        await post.outbox.flush()
    assert (post.ledger.most_under_way, len(post.kept)) == (1, 5 * BATCH_MAX)


async def test_what_is_left_at_the_end_is_counted(post: Post) -> None:
    post.record(range(4))
    post.outbox.close()
    assert post.telemetry.counts[Count.USAGE_DROPPED] == 4


async def test_the_gauges_tell_how_it_stands(post: Post) -> None:
    post.ledger.away = "away"
    async with post.running():
        post.record(range(4))
        await after(1.0)
        told = dict(post.telemetry.gauges)
        post.ledger.away = None
        await after(PAUSE_MAX_S)
    waiting, up = (Gauge.USAGE_WAITING, ""), (Gauge.DEPENDENCY_UP, Dependency.LEDGER.value)
    assert (told[waiting], told[up]) == (4, 0)
    assert (post.telemetry.gauges[waiting], post.telemetry.gauges[up]) == (0, 1)
