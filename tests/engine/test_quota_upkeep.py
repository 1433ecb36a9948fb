import asyncio
from itertools import pairwise

from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.upstream import Head, Pause
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account
from ktms.domain.ids import RequestId
from ktms.engine.quota_upkeep import BEAT_AGAIN_S, RECONCILE_EVERY_S, QuotaUpkeep
from ktms.ports.quota_store import BEAT_EVERY_S, RESERVATION_TTL_S, Wish
from ktms.ports.telemetry import Dependency
from tests.engine.rig import EVENTS, Rig, key_id, rig_of, whole
from tests.engine.test_budget import DOLLAR, limited
from tests.engine.virtual_loop import after
from tests.world.events import C

ACCOUNT = f"key:{key_id()}"


def upkeep(rig: Rig) -> QuotaUpkeep:
    return QuotaUpkeep(rig.quotas, rig.reports, rig.budget, rig.entropy, rig.telemetry)


async def dear_rig() -> Rig:
    rig = await rig_of(catalogue=limited(Limits(usd_per_day_micros=DOLLAR)))
    rig.says("alpha", whole())
    return rig


WISH = Wish(RequestId("call"), (Account(ACCOUNT, Limits(concurrent=9)),), tokens=1, micros=0)


async def reserved_after(rig: Rig, pause_s: float) -> int:
    """Give how many calls of the account run, once another replica has looked for the dead."""
    await after(pause_s)
    other = MemoryQuotaStore(rig.quotas.quotas, "gw2")
    seen = Wish(RequestId("look"), (Account("key:other", Limits(rpm=9)),), tokens=1, micros=0)
    await other.reserve(seen)
    other.settle(seen, 0, 0)
    return rig.quotas.quotas.counters(ACCOUNT).running


async def test_what_a_replica_that_runs_has_reserved_stays_reserved() -> None:
    rig = await dear_rig()
    await rig.quotas.reserve(WISH)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(upkeep(rig).run())
        assert await reserved_after(rig, RESERVATION_TTL_S + BEAT_EVERY_S) == 1
        running.cancel()
    assert await reserved_after(rig, RESERVATION_TTL_S + 1) == 0, "and is given back when it does not"


async def test_a_beat_that_fails_is_told_and_repeated_soon() -> None:
    rig = await dear_rig()
    await rig.quotas.reserve(WISH)
    rig.quotas.quotas.away = "timeout"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(upkeep(rig).run())
        await after(0.5)
        rig.quotas.quotas.away = None
        assert await reserved_after(rig, RESERVATION_TTL_S + 1) == 1
        running.cancel()
    assert rig.telemetry.failures == [(Dependency.REDIS, "quota_beat", "timeout")]


class NotedBeats(MemoryQuotaStore):
    """Notes when it was told that this replica lives."""

    def __init__(self) -> None:
        super().__init__()
        self.beats: list[float] = []

    async def beat(self) -> None:
        self.beats.append(asyncio.get_running_loop().time())
        await super().beat()


async def test_beats_come_sooner_while_they_fail() -> None:
    rig, quotas = await dear_rig(), NotedBeats()
    await quotas.reserve(WISH)
    quotas.quotas.away = "away"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(QuotaUpkeep(quotas, rig.reports, rig.budget, rig.entropy, rig.telemetry).run())
        await after(2.5 * BEAT_AGAIN_S)
        quotas.quotas.away = None
        await after(0.6 * BEAT_AGAIN_S + 2 * BEAT_EVERY_S)
        running.cancel()
    pauses = [later - sooner for sooner, later in pairwise(quotas.beats)]
    assert pauses == [BEAT_AGAIN_S] * 3 + [BEAT_EVERY_S] * 2


async def test_what_was_spent_uncounted_is_made_up_for_from_the_ledger() -> None:
    """FR10."""
    rig = await dear_rig()
    rig.quotas.quotas.away = "away"
    await rig.handle(rig.call())
    rig.quotas.quotas.away = None
    await rig.reports.send(rig.ledger.events)
    assert rig.quotas.quotas.counters(ACCOUNT).day_settled == 0
    async with asyncio.TaskGroup() as group:
        running = group.create_task(upkeep(rig).run())
        await after(RECONCILE_EVERY_S + 1)
        running.cancel()
    assert rig.quotas.quotas.counters(ACCOUNT).day_settled == 11


async def test_a_long_call_that_began_uncounted_is_made_up_for_when_it_has_ended() -> None:
    rig = await dear_rig()
    rig.says("alpha", (Head(200, EVENTS), *(step for _ in range(30) for step in (C("some words"), Pause(10.0)))))
    rig.quotas.quotas.away = "away"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(upkeep(rig).run())
        call = group.create_task(rig.handle(rig.call(stream=True)))
        await after(1.0)
        rig.quotas.quotas.away = None
        await after(3 * RECONCILE_EVERY_S)
        call.cancel()
        await after(1.0)
        await rig.reports.send(rig.ledger.events)
        await after(2 * RECONCILE_EVERY_S)
        running.cancel()
    assert rig.ledger.events[0].uncounted
    assert rig.quotas.quotas.counters(ACCOUNT).day_settled > 0


async def test_what_reaches_the_ledger_after_it_was_read_is_made_up_for_the_next_time() -> None:
    rig = await dear_rig()
    rig.quotas.quotas.away = "away"
    await rig.handle(rig.call())
    rig.quotas.quotas.away = None
    await upkeep(rig).reconcile()
    await rig.reports.send(rig.ledger.events)
    await upkeep(rig).reconcile()
    assert rig.quotas.quotas.counters(ACCOUNT).day_settled == 11


async def test_a_ledger_that_lags_behind_lowers_nothing() -> None:
    rig = await dear_rig()
    await rig.handle(rig.call())
    await upkeep(rig).reconcile()
    assert rig.quotas.quotas.counters(ACCOUNT).day_settled == 11


async def test_accounts_that_could_not_be_seen_to_are_seen_to_later() -> None:
    rig = await dear_rig()
    await rig.handle(rig.call())
    rig.reports.away = "away"
    await upkeep(rig).reconcile()
    assert rig.telemetry.failures == [(Dependency.LEDGER, "reconcile", "away")]
    assert [rig.budget.take_spenders() for _ in range(3)] == [(ACCOUNT,), (ACCOUNT,), ()]


async def test_a_store_that_is_away_is_told_by_its_own_name() -> None:
    rig = await dear_rig()
    await rig.handle(rig.call())
    rig.quotas.quotas.away = "away"
    await upkeep(rig).reconcile()
    assert rig.telemetry.failures == [(Dependency.REDIS, "reconcile", "away")]
