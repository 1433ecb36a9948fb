"""What a replica does with limits is written down as it happened."""

import asyncio

import pytest

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, Spent
from ktms.domain.ids import RequestId
from ktms.ports.quota_store import Answer, QuotaStoreAway, Wish
from sim.fakes.quotas import JournalQuotas
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.trace import Trace

ACCOUNT = Account("key:app", Limits(usd_per_day_micros=100))


class Desk:
    """A replica with its journal, and the store behind it."""

    def __init__(self) -> None:
        self.store = MemoryQuotas(wall=ManualClock().wall)
        self.journal, self.trace = Journal(lambda: 0.0), Trace()
        self.quotas = JournalQuotas("gw1", self.journal, self.trace, MemoryQuotaStore(self.store, "gw1#1"))

    async def reserve(self, micros: int = 60, call: str = "a") -> Answer:
        return await self.quotas.reserve(wish(micros, call))

    @property
    def last(self) -> Fact:
        return self.journal.facts[-1]


def wish(micros: int = 60, call: str = "a") -> Wish:
    return Wish(RequestId(call), (ACCOUNT,), 7, micros)


@pytest.fixture
async def desk() -> Desk:
    made = Desk()
    await made.quotas.raise_spent([Spent("key:app", 0, 0, 0, 0)])
    return made


async def test_a_reservation_is_a_fact_with_all_that_was_wished(desk: Desk) -> None:
    await desk.reserve()
    members = {"call": "a", "accounts": "key:app", "tokens": 7, "micros": 60}
    assert (desk.last.kind, desk.last.host) == ("quota_reserved", "gw1")
    assert members.items() < desk.last.members.items()
    assert desk.last.number("waited_s") < 1.0


async def test_a_refusal_says_which_limit_of_whom_and_for_how_long(desk: Desk) -> None:
    await desk.reserve()
    await desk.reserve(call="b")
    assert desk.last.kind == "quota_refused"
    assert (desk.last.members["account"], desk.last.members["limit"]) == ("key:app", "day")
    assert desk.last.number("wait_ms") > 0


async def test_a_store_that_knows_nothing_is_a_fact() -> None:
    desk = Desk()
    await desk.reserve()
    assert desk.last.kind == "quota_unread"


async def test_what_the_ledger_knows_is_a_fact(desk: Desk) -> None:
    assert desk.last.kind == "quota_raised"
    assert desk.last.members["account"] == "key:app"


@pytest.mark.parametrize(("used", "kind"), [((3, 5), "quota_settled"), ((0, 0), "quota_given_back")])
async def test_a_settlement_is_a_fact(desk: Desk, used: tuple[int, int], kind: str) -> None:
    await desk.reserve()
    desk.quotas.settle(wish(), *used)
    assert (desk.last.kind, desk.last.members["call"]) == (kind, "a")


async def test_a_store_that_is_away_is_a_fact_and_an_error(desk: Desk) -> None:
    desk.store.away = "timeout"
    with pytest.raises(QuotaStoreAway):
        await desk.reserve()
    assert (desk.last.kind, desk.last.members["failure"]) == ("quota_unknown", "timeout")
    assert desk.last.members["call"] == "a"
    with pytest.raises(QuotaStoreAway):
        await desk.quotas.raise_spent([])
    assert desk.last.members["operation"] == "raise_spent"


async def test_a_beat_is_a_fact_where_it_fails_alone(desk: Desk) -> None:
    await desk.reserve()
    count = len(desk.journal.facts)
    await desk.quotas.beat()
    assert len(desk.journal.facts) == count
    desk.store.away = "away"
    with pytest.raises(QuotaStoreAway):
        await desk.quotas.beat()
    assert desk.last.members["operation"] == "beat"


async def test_who_was_cancelled_does_not_know() -> None:
    class Hung(MemoryQuotaStore):
        async def reserve(self, wish: Wish) -> Answer:
            del wish
            raise asyncio.CancelledError

    journal = Journal(lambda: 0.0)
    with pytest.raises(asyncio.CancelledError):
        await JournalQuotas("gw1", journal, Trace(), Hung()).reserve(wish())
    assert journal.facts[-1].members["failure"] == "cancelled"
