import asyncio
from collections.abc import Sequence

import pytest

from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_report import UsageQuery, UsageRow
from ktms.engine.spending import AWAY_S, PATIENCE_S, Spending
from ktms.ports.ledger import LedgerAway
from tests.engine.rig import Rig
from tests.engine.virtual_loop import after, settle

ACCOUNTS = ("key:a", "tenant:t")


class SlowReports:
    """Answers when it is let, or never; counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.answers = asyncio.Event()
        self.away: str | None = None

    async def spent(self, accounts: Sequence[str]) -> Sequence[Spent]:
        self.asked.append(tuple(accounts))
        await self.answers.wait()
        if self.away is not None:
            raise LedgerAway(self.away)
        return [Spent(account, 1, 1, 7, 7) for account in accounts]

    async def usage(self, _query: UsageQuery) -> Sequence[UsageRow]:
        return []


@pytest.fixture
def reports() -> SlowReports:
    return SlowReports()


@pytest.fixture
def spending(rig: Rig, reports: SlowReports) -> Spending:
    return Spending(reports, rig.clock)


async def failed(spending: Spending, accounts: Sequence[str] = ACCOUNTS) -> str:
    with pytest.raises(LedgerAway) as away:
        await spending.of(accounts)
    return away.value.kind


async def test_calls_that_want_to_know_the_same_ask_once(spending: Spending, reports: SlowReports) -> None:
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(spending.of(ACCOUNTS)) for _ in range(5)]
        other = group.create_task(spending.of(["key:b"]))
        await settle()
        reports.answers.set()
    assert [each.result()[0].day_micros for each in asking] == [7] * 5
    assert other.result()[0].account == "key:b"
    assert reports.asked == [ACCOUNTS, ("key:b",)]


async def test_whoever_waited_for_a_call_that_left_asks_in_its_place(
    spending: Spending, reports: SlowReports
) -> None:
    async with asyncio.TaskGroup() as group:
        first, second = (group.create_task(spending.of(ACCOUNTS)) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        reports.answers.set()
    assert len(second.result()) == 2
    assert reports.asked == [ACCOUNTS] * 2


async def test_a_ledger_that_hangs_is_waited_for_once_and_then_left_alone(
    spending: Spending, reports: SlowReports, rig: Rig
) -> None:
    began_at = rig.clock.monotonic()
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(failed(spending)) for _ in range(3)]
    assert [each.result() for each in waiting] == ["timeout"] * 3
    assert await failed(spending) == "silenced"
    assert rig.clock.monotonic() - began_at == pytest.approx(PATIENCE_S)
    assert len(reports.asked) == 1


async def failed_once(spending: Spending, reports: SlowReports) -> None:
    """Bring it to where the next to ask is a trial, which is answered when the test says so."""
    reports.away = "away"
    reports.answers.set()
    assert await failed(spending) == "away"
    await after(AWAY_S)
    reports.answers.clear()
    reports.away = None


async def test_after_a_failure_one_asks_and_all_others_go_on_without(
    spending: Spending, reports: SlowReports
) -> None:
    await failed_once(spending, reports)
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(spending.of(ACCOUNTS))
        await settle()
        assert await failed(spending) == await failed(spending, ["key:b"]) == "silenced"
        reports.answers.set()
    assert len(trial.result()) == 2
    assert len(await spending.of(["key:b"])) == 1


async def test_a_trial_whose_caller_left_is_made_by_the_next(spending: Spending, reports: SlowReports) -> None:
    await failed_once(spending, reports)
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(spending.of(ACCOUNTS))
        await settle()
        trial.cancel()
    reports.answers.set()
    assert len(await spending.of(ACCOUNTS)) == 2
