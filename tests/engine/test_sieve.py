import asyncio
from collections.abc import Sequence

import pytest

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.domain.access.usage_event import UsageEvent
from ktms.engine.outbox import PAUSE_MAX_S, Outbox
from ktms.engine.sieve import NEIGHBOURS_MAX, PATIENCE_S
from ktms.ports.ledger import LedgerAway
from ktms.ports.telemetry import Count
from tests.engine.virtual_loop import after
from tests.usage_events import usage_event


class PickyLedger(MemoryLedger):
    """Refuses every batch with one of the events that it does not want."""

    def __init__(self) -> None:
        super().__init__()
        self.unwanted: set[str] = set()
        self.sends = 0

    async def send(self, events: Sequence[UsageEvent]) -> None:
        self.sends += 1
        if any(event.id in self.unwanted for event in events):
            raise LedgerAway("refused")
        await super().send(events)


class Post:
    """An outbox at a ledger that refuses some of the events of a row."""

    def __init__(self, count: int, unwanted: Sequence[int]) -> None:
        self.events = [usage_event(number) for number in range(count)]
        self.ledger, self.telemetry = PickyLedger(), MemoryTelemetry()
        self.ledger.unwanted = {self.events[number].id for number in unwanted}
        self.spool = MemoryUsageSpool()
        self.outbox = Outbox(self.ledger, self.spool, SeededEntropy("sieve"), self.telemetry)

    async def runs(self, seconds: float) -> None:
        for event in self.events:
            self.outbox.record(event)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.outbox.run())
            await after(seconds)
            task.cancel()

    @property
    def kept(self) -> list[UsageEvent]:
        return sorted(self.ledger.events, key=lambda event: event.id)

    @property
    def set_aside(self) -> list[object]:
        return [one.facts["id"] for one in self.telemetry.events if one.name == "usage_event_set_aside"]


async def test_what_comes_before_an_event_that_is_refused_is_stored_at_once() -> None:
    post = Post(100, [60])
    await post.runs(PATIENCE_S / 2)
    assert post.kept == post.events[:60]
    assert post.outbox.depth == 40
    assert post.set_aside == []


async def test_an_event_that_is_refused_for_long_is_set_aside_told_and_counted() -> None:
    post = Post(100, [60])
    await post.runs(PATIENCE_S + 2 * PAUSE_MAX_S)
    assert post.kept == [*post.events[:60], *post.events[61:]]
    assert post.set_aside == [post.events[60].id]
    assert post.telemetry.counts[Count.USAGE_DROPPED] == 1
    assert post.outbox.depth == 0


async def test_each_of_several_such_events_is_found() -> None:
    post = Post(50, [0, 1, 30, 48])
    await post.runs(5 * (PATIENCE_S + 2 * PAUSE_MAX_S))
    assert [event.id for event in post.kept] == [
        event.id for event in post.events if event.id not in post.ledger.unwanted
    ]
    assert post.outbox.depth == 0


@pytest.mark.parametrize("count", [1, 30])
async def test_a_ledger_that_refuses_everything_gets_everything_later(count: int) -> None:
    post = Post(count, range(count))
    await post.runs(3 * PATIENCE_S)
    assert post.outbox.depth == count
    assert post.set_aside == []
    post.ledger.unwanted.clear()
    post.events = []
    await post.runs(PAUSE_MAX_S + 1)
    assert (len(post.kept), post.outbox.depth) == (count, 0)


async def test_a_ledger_that_refuses_everything_is_not_flooded() -> None:
    post = Post(500, range(500))
    await post.runs(120.0)
    often = 120.0 / (PAUSE_MAX_S / 2) + 10
    assert post.ledger.sends < often + 3 * (9 + NEIGHBOURS_MAX)


async def test_a_ledger_that_goes_away_meanwhile_is_away() -> None:
    post = Post(20, [0])

    async def send(events: Sequence[UsageEvent]) -> None:
        raise LedgerAway("refused" if len(events) == 20 else "away")

    post.ledger.send = send  # type: ignore[method-assign]  # it answers no more
    await post.runs(2 * PATIENCE_S)
    assert post.outbox.depth == 20
    assert post.set_aside == []
