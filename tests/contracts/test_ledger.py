"""Contract of `ktms/ports/ledger.py`: one suite for every implementation."""

import asyncio
from collections.abc import Callable

import pytest

from ktms.adapters.memory.ledger import MemoryLedger
from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.conversation.usage import NO_USAGE
from ktms.domain.ids import EventId, KeyId, ModelName, RequestId, TenantName, VendorModel, VendorName
from ktms.ports.ledger import Ledger
from sim.fakes.ledger import JournalLedger
from sim.journal.journal import Journal


def event(number: int) -> UsageEvent:
    return UsageEvent(
        id=EventId(f"event-{number}"),
        request_id=RequestId("request"),
        started_at=1_790_000_000.0,
        duration_s=0.1,
        first_token_s=None,
        tenant=TenantName("default"),
        key_id=KeyId("0123456789"),
        model=ModelName("small"),
        chain=None,
        vendor=VendorName("openai"),
        node=None,
        vendor_model=VendorModel("gpt"),
        status=AttemptStatus.OK,
        http_status=200,
        usage=NO_USAGE,
        streamed=False,
    )


def in_a_world() -> Ledger:
    return JournalLedger("gw1", Journal(lambda: 0.0))


@pytest.fixture(params=[MemoryLedger, in_a_world], ids=["memory", "sim"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    make: Callable[[], Ledger] = request.param
    return make()


async def test_taking_events_never_raises_however_many_there_are(ledger: Ledger) -> None:
    for number in range(20_000):
        ledger.record(event(number))


async def test_flushing_returns_within_the_callers_deadline(ledger: Ledger) -> None:
    ledger.record(event(1))
    async with asyncio.timeout(5):
        await ledger.flush()


async def test_events_may_follow_a_flush(ledger: Ledger) -> None:
    await ledger.flush()
    ledger.record(event(1))
    await ledger.flush()


def test_events_in_memory_are_kept_in_their_order() -> None:
    ledger = MemoryLedger()
    for number in range(3):
        ledger.record(event(number))
    assert [kept.id for kept in ledger.events] == ["event-0", "event-1", "event-2"]


def test_events_beyond_the_bound_push_the_oldest_out_and_are_counted() -> None:
    ledger = MemoryLedger(events_max=3)
    for number in range(5):
        ledger.record(event(number))
    assert [kept.id for kept in ledger.events] == ["event-2", "event-3", "event-4"]
    assert ledger.dropped_total == 2
