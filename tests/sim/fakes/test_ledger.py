import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from ktms.domain.access.usage_report import UsageQuery
from ktms.ports.ledger import LedgerAway
from sim.fakes.ledger import REPEAT_MAX_S, LedgerLine, SimLedger
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace
from tests.sim.fakes.virtual import run
from tests.usage_events import usage_event


class Desk:
    """One ledger and one replica's way to it."""

    def __init__(self) -> None:
        self.journal = Journal(lambda: 0.0)
        self.ledger = SimLedger(Seed(1).chance("ledger"), self.journal, Trace())
        self.line = LedgerLine("gw1", self.ledger, self.journal)

    @property
    def kept(self) -> list[str]:
        return [event.id for event in self.ledger.book.events]

    def facts(self, kind: str) -> list[dict[str, object]]:
        return [dict(fact.members) for fact in self.journal.of(kind)]


def told(work: Coroutine[Any, Any, None]) -> None:
    run(lambda: work)


def test_a_batch_that_is_stored_is_a_fact_with_its_ids() -> None:
    desk = Desk()
    told(desk.line.send([usage_event(1), usage_event(2)]))
    ids = f"{usage_event(1).id} {usage_event(2).id}"
    assert desk.facts("usage_sent") == [{"ids": ids}]
    assert desk.facts("usage_kept") == [{"sender": "gw1", "ids": ids, "fresh": 2, "rows": 2}]


def test_a_ledger_that_is_away_keeps_nothing() -> None:
    desk = Desk()
    desk.ledger.mode("ledger_away", on=True)
    with pytest.raises(LedgerAway):
        told(desk.line.send([usage_event(1)]))
    assert desk.kept == []


def test_what_a_hung_ledger_took_takes_effect_when_it_goes_on() -> None:
    desk = Desk()

    async def story() -> None:
        desk.ledger.mode("ledger_hung", on=True)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await desk.line.send([usage_event(1)])
        assert desk.kept == []
        desk.ledger.mode("ledger_hung", on=False)

    told(story())
    assert desk.kept == [usage_event(1).id]


def test_whoever_waits_for_a_hung_ledger_is_answered_when_it_goes_on() -> None:
    desk = Desk()

    async def story() -> None:
        desk.ledger.mode("ledger_hung", on=True)
        asyncio.get_running_loop().call_later(3, lambda: desk.ledger.mode("ledger_hung", on=False))
        await desk.line.send([usage_event(1)])

    told(story())
    assert desk.kept == [usage_event(1).id]


def test_a_slow_ledger_takes_its_time() -> None:
    desk = Desk()

    async def story() -> None:
        desk.ledger.mode("ledger_slow", 4.0, on=True)
        began_at = asyncio.get_running_loop().time()
        await desk.line.send([usage_event(1)])
        assert asyncio.get_running_loop().time() - began_at >= 4.0

    told(story())


def test_a_forgetful_ledger_stores_and_does_not_say_so() -> None:
    desk = Desk()
    desk.ledger.mode("ledger_forgetful", on=True)
    with pytest.raises(LedgerAway):
        told(desk.line.send([usage_event(1)]))
    assert desk.kept == [usage_event(1).id]


def test_a_repeating_ledger_gets_each_batch_again_and_makes_no_row_of_it() -> None:
    desk = Desk()

    async def story() -> None:
        desk.ledger.mode("ledger_repeating", on=True)
        await desk.line.send([usage_event(number) for number in range(5)])
        await asyncio.sleep(REPEAT_MAX_S + 1)

    told(story())
    first, again = desk.facts("usage_kept")
    assert (first["rows"], again["rows"], again["again"]) == (5, 5, True)
    assert sorted(str(again["ids"]).split()) == sorted(str(first["ids"]).split())


def test_sums_are_told_of_what_is_kept() -> None:
    desk = Desk()

    async def story() -> None:
        await desk.line.send([usage_event(1)])
        (row,) = await desk.line.usage(UsageQuery(0, 100_000))
        assert row.attempts == 1
        (spent,) = await desk.line.spent(["tenant:default"])
        assert spent.account == "tenant:default"

    told(story())
