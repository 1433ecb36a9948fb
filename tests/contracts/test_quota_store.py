"""Contract of `ktms/ports/quota_store.py`: one suite for every implementation."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, AccountState, Limit, Refusal, Spent
from ktms.domain.access.quota_calendar import day_of, month_of
from ktms.domain.access.quota_counters import MICROS_MAX, TOKENS_MAX
from ktms.ports.quota_store import RESERVATION_TTL_S, TOMBSTONE_S, Reserved, Unread
from tests.contracts.quota_stage import (
    Stage,
    have,
    know,
    look,
    memory_stage,
    reserved,
    settle,
    sim_stage,
    to_midnight,
    valkey_stage,
    wish,
)

DEAD_S = RESERVATION_TTL_S + 1
"""What a dead replica held is back after this at the latest: those who live look once a second."""

KEY = Account("key:a", Limits(concurrent=3))
TEAM = Account("tenant:team", Limits(concurrent=3))
RICH = Account("key:rich", Limits(usd_per_day_micros=1_000_000, usd_per_month_micros=5_000_000))


@pytest.fixture
async def in_memory() -> AsyncIterator[Stage]:
    async with memory_stage() as made:
        yield made


@pytest.fixture
async def in_sim() -> AsyncIterator[Stage]:
    async with sim_stage() as made:
        yield made


@pytest.fixture
async def in_valkey(valkey_url: str) -> AsyncIterator[Stage]:
    async with valkey_stage(valkey_url) as made:
        yield made


@pytest.fixture(params=["memory", "sim", pytest.param("valkey", marks=pytest.mark.service)])
def stage(request: pytest.FixtureRequest) -> Stage:
    made: Stage = request.getfixturevalue(f"in_{request.param}")
    return made


async def test_a_wish_without_accounts_is_reserved_and_counted_nowhere(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    assert await replica.reserve(wish("1")) == Reserved(())


async def test_a_call_is_counted_on_all_its_accounts(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    accounts = (Account("key:a", Limits(rpm=60, tpm=600)), Account("tenant:t", Limits(rpm=6)))
    answer = await have(replica, wish("1", *accounts, tokens=10, micros=7))
    assert answer.states == (AccountState(1_000_000, 1_000_000, 1, 7, 7), AccountState(10_000_000, 0, 1, 7, 7))


async def test_a_refused_call_costs_nothing_on_any_account(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    one = Account("tenant:t", Limits(rpm=1))
    await have(replica, wish("1", one))
    refused = await replica.reserve(wish("2", Account("key:a", Limits(rpm=60)), one))
    assert refused == Refusal(1, Limit.REQUESTS, 60_000, (AccountState(), AccountState(60_000_000, 0, 1)))
    assert await look(replica, "key:a", "tenant:t") == [AccountState(), AccountState(60_000_000, 0, 1)]


@pytest.mark.parametrize("limits", [Limits(rpm=7), Limits(tpm=7000)])
async def test_after_exactly_the_wait_it_passes(stage: Stage, limits: Limits) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", limits)
    for number in range(7):
        await have(replica, wish(f"call-{number}", account, tokens=1000))
        await stage.let_pass(0.1)
    refused = await replica.reserve(wish("late", account, tokens=1000))
    assert isinstance(refused, Refusal)
    assert refused.wait_ms
    await stage.let_pass((refused.wait_ms - 1) / 1000)
    assert isinstance(await replica.reserve(wish("late", account, tokens=1000)), Refusal)
    await stage.let_pass(0.001)
    await have(replica, wish("late", account, tokens=1000))


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (Limits(rpm=0), Limit.REQUESTS),
        (Limits(tpm=99), Limit.TOKENS),
        (Limits(concurrent=0), Limit.CONCURRENT),
        (Limits(usd_per_day_micros=9), Limit.DAY),
        (Limits(usd_per_month_micros=9), Limit.MONTH),
    ],
)
async def test_what_can_never_pass_is_told_so(stage: Stage, limits: Limits, limit: Limit) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", limits)
    await know(stage, replica, account)
    refused = await replica.reserve(wish("1", account, tokens=100, micros=10))
    assert refused == Refusal(0, limit, None, (AccountState(),))


async def test_a_reservation_repeated_under_its_id_is_one(stage: Stage) -> None:
    replica, one = await stage.replica("gw1"), Account("key:a", Limits(rpm=1, concurrent=1))
    first = await have(replica, wish("1", one))
    assert await have(replica, wish("1", one)) == first
    assert [state.running for state in await look(replica, "key:a")] == [1]


async def test_settling_puts_what_was_used_in_its_place_and_twice_is_harmless(stage: Stage) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", Limits(rpm=60, tpm=60_000))
    call = wish("1", account, tokens=9000, micros=500)
    await have(replica, call)
    await settle(replica, call, 2000, 120)
    assert await look(replica, "key:a") == [AccountState(1_000_000, 2_000_000, 0, 120, 120)]
    await settle(replica, call, 2000, 120)
    assert await look(replica, "key:a") == [AccountState(1_000_000, 2_000_000, 0, 120, 120)]


async def test_a_call_that_used_nothing_gives_all_back(stage: Stage) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", Limits(rpm=60, tpm=60_000))
    call = wish("1", account, tokens=9000, micros=500)
    await have(replica, call)
    await settle(replica, call, 0, 0)
    assert await look(replica, "key:a") == [AccountState()]


async def test_of_calls_at_once_no_more_pass_than_the_limit_and_each_end_lets_one_in(stage: Stage) -> None:
    replicas = [await stage.replica(name) for name in ("gw1", "gw2")]
    calls = [wish(f"call-{number}", KEY, TEAM) for number in range(20)]
    answers = await asyncio.gather(*(replicas[number % 2].reserve(call) for number, call in enumerate(calls)))
    assert reserved(answers) == 3
    number = next(at for at, answer in enumerate(answers) if isinstance(answer, Reserved))
    await settle(replicas[number % 2], calls[number], 1, 1)
    assert reserved([await replicas[0].reserve(wish(name, KEY, TEAM)) for name in ("new", "one-more")]) == 1


async def test_parallel_calls_never_reserve_more_dollars_than_there_are(stage: Stage) -> None:
    """P55 and S36: a budget of 1.00, 50 calls of 0.10 at once over 3 replicas, of which each uses 0.04."""
    replicas = [await stage.replica(f"gw{number}") for number in range(3)]
    account, team = Account("key:a", Limits(usd_per_day_micros=1_000_000)), Account("tenant:t", RICH.limits)
    await know(stage, replicas[0], account, team)
    left = [wish(f"call-{number}", account, team, micros=100_000) for number in range(50)]
    spent = 0
    while left:
        answers = await asyncio.gather(*(replicas[at % 3].reserve(call) for at, call in enumerate(left)))
        passed = [(at, call) for at, call in enumerate(left) if isinstance(answers[at], Reserved)]
        states = await look(replicas[0], "key:a", "tenant:t")
        assert [state.day_micros for state in states] == [spent + 100_000 * len(passed)] * 2
        assert states[0].day_micros <= 1_000_000
        assert len(passed) == min(len(left), (1_000_000 - spent) // 100_000)
        if not passed:
            break
        for at, call in passed:
            await settle(replicas[at % 3], call, 10, 40_000)
            spent += 40_000
        left = [call for call in left if call not in [one for _, one in passed]]
    states = await look(replicas[0], "key:a")
    assert states == [AccountState(0, 0, 0, spent, spent)]
    assert 900_000 < spent <= 1_000_000


async def test_a_budget_of_a_day_is_whole_again_after_the_wait_it_told(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    await know(stage, replica, RICH, micros=999_999)
    refused = await replica.reserve(wish("1", RICH, micros=2))
    assert isinstance(refused, Refusal)
    assert refused.limit is Limit.DAY
    assert refused.wait_ms
    await stage.let_pass((refused.wait_ms - 1) / 1000)
    assert isinstance(await replica.reserve(wish("1", RICH, micros=2)), Refusal)
    await stage.let_pass(0.001)
    assert (await have(replica, wish("1", RICH, micros=1_000_000))).states[0].month_micros == 1_999_999


async def test_a_budget_of_a_month_is_whole_again_after_the_wait_it_told(stage: Stage) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", Limits(usd_per_month_micros=100))
    await know(stage, replica, account, micros=100)
    refused = await replica.reserve(wish("1", account, micros=1))
    assert isinstance(refused, Refusal)
    assert refused.wait_ms
    await stage.let_pass(refused.wait_ms / 1000)
    assert (await have(replica, wish("1", account, micros=100))).states == (AccountState(0, 0, 1, 100, 100),)


async def test_a_call_over_midnight_belongs_to_the_day_it_began_in(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    await know(stage, replica, RICH)
    call = wish("1", RICH, micros=700_000)
    await have(replica, call)
    await to_midnight(stage)
    await have(replica, wish("2", RICH, micros=1_000_000))
    await settle(replica, call, 1, 600_000)
    assert await look(replica, RICH.id) == [AccountState(0, 0, 1, 1_000_000, 1_600_000)]


async def test_of_an_account_that_was_never_read_no_dollars_are_reserved(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    call = wish("1", KEY, RICH, micros=10)
    assert await replica.reserve(call) == Unread((RICH,))
    assert await look(replica, KEY.id, RICH.id) == [AccountState(), AccountState()]
    await know(stage, replica, RICH, micros=300)
    assert (await have(replica, call)).states[1] == AccountState(0, 0, 1, 310, 310)


async def test_limits_of_dollars_that_come_later_are_not_trusted_before_the_ledger_was_asked(
    stage: Stage,
) -> None:
    replica = await stage.replica("gw1")
    await have(replica, wish("1", Account(RICH.id, Limits(rpm=60)), micros=70))
    assert await replica.reserve(wish("2", RICH, micros=10)) == Unread((RICH,))
    await know(stage, replica, RICH, micros=300)
    assert (await have(replica, wish("2", RICH, micros=10))).states == (AccountState(1_000_000, 0, 2, 380, 380),)


async def test_what_was_spent_is_raised_and_never_lowered_nor_taken_of_other_days(stage: Stage) -> None:
    replica, day = await stage.replica("gw1"), day_of(stage.now_us())
    month = month_of(day)
    for spent in (
        Spent(RICH.id, day, month, 500, 900),
        Spent(RICH.id, day, month, 400, 800),
        Spent(RICH.id, day - 1, month, 7000, 1000),
        Spent(RICH.id, day - 90, month - 3, 7000, 7000),
    ):
        await replica.raise_spent([spent])
    assert await look(replica, RICH.id) == [AccountState(0, 0, 0, 500, 1000)]


async def test_what_a_dead_replica_had_reserved_is_free_after_its_time_and_no_sooner(stage: Stage) -> None:
    """P44: SIGKILL of a replica that holds all there is."""
    dead, living = await stage.replica("gw1"), await stage.replica("gw2")
    await dead.beat()
    for name in ("1", "2", "3"):
        await have(dead, wish(name, KEY, TEAM, micros=100))
    await stage.let_pass(RESERVATION_TTL_S - 0.001)
    await living.beat()
    assert isinstance(await living.reserve(wish("new", KEY, TEAM)), Refusal)
    await stage.let_pass(DEAD_S - RESERVATION_TTL_S + 0.001)
    await have(living, wish("new", KEY, TEAM))
    assert await look(living, KEY.id, TEAM.id) == [AccountState(running=1)] * 2


async def test_a_replica_that_beats_keeps_what_it_has_reserved_however_long_a_call_takes(stage: Stage) -> None:
    replica, other = await stage.replica("gw1"), await stage.replica("gw2")
    await have(replica, wish("1", KEY, micros=100))
    for _ in range(12):
        await stage.let_pass(5)
        await replica.beat()
        await have(other, wish("other", KEY))
        await settle(other, wish("other", KEY), 0, 0)
    assert await look(replica, KEY.id) == [AccountState(0, 0, 1, 100, 100)]


async def test_what_a_frozen_replica_settles_late_is_charged_once(stage: Stage) -> None:
    frozen, living = await stage.replica("gw1"), await stage.replica("gw2")
    account = Account("key:a", Limits(concurrent=1, tpm=60_000))
    call = wish("1", account, tokens=5000, micros=100)
    await have(frozen, call)
    await stage.let_pass(DEAD_S)
    await have(living, wish("new", account))
    await settle(frozen, call, 3000, 80)
    assert await look(living, "key:a") == [AccountState(0, 3_000_000, 1, 80, 80)]
    await settle(frozen, call, 3000, 80)
    assert await look(living, "key:a") == [AccountState(0, 3_000_000, 1, 80, 80)]


async def test_what_is_settled_later_than_any_call_lasts_is_not_charged(stage: Stage) -> None:
    frozen, living = await stage.replica("gw1"), await stage.replica("gw2")
    call = wish("1", KEY, micros=100)
    await have(frozen, call)
    await stage.let_pass(DEAD_S)
    await look(living, KEY.id)
    await stage.let_pass(TOMBSTONE_S)
    await settle(frozen, call, 10, 80)
    assert await look(living, KEY.id) == [AccountState()]


async def test_a_frozen_replica_that_beats_again_has_its_calls_counted_again(stage: Stage) -> None:
    frozen, living = await stage.replica("gw1"), await stage.replica("gw2")
    call = wish("1", KEY, micros=100)
    await have(frozen, call)
    await stage.let_pass(DEAD_S)
    await living.beat()
    assert await look(living, KEY.id) == [AccountState()]
    await frozen.beat()
    assert await look(living, KEY.id) == [AccountState(0, 0, 1, 100, 100)]
    await settle(frozen, call, 10, 80)
    assert await look(living, KEY.id) == [AccountState(0, 0, 0, 80, 80)]


async def test_a_loss_that_somebody_else_was_told_of_is_made_up_for_with_the_next_beat(stage: Stage) -> None:
    """Whose reservation found the loss never heard its answer: a store that hung, or a failover that lagged."""
    replica, its_lost_question = await stage.replica("gw1"), await stage.replica("gw1")
    call = wish("1", KEY, micros=100)
    await have(replica, call)
    await stage.let_pass(DEAD_S)
    assert await look(its_lost_question, KEY.id) == [AccountState()]
    await replica.beat()
    assert await look(replica, KEY.id) == [AccountState(0, 0, 1, 100, 100)]


async def test_a_store_that_lost_its_memory_is_told_of_what_is_under_way(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    await know(stage, replica, RICH)
    calls = [wish(f"call-{number}", RICH, KEY, micros=1000) for number in range(3)]
    for call in calls:
        await have(replica, call)
    await settle(replica, calls[0], 10, 400)
    await stage.lose()
    assert await replica.reserve(wish("new", RICH, micros=1)) == Unread((RICH,))
    await replica.beat()
    await replica.beat()
    await know(stage, replica, RICH, micros=400)
    assert await look(replica, RICH.id, KEY.id) == [
        AccountState(0, 0, 2, 2400, 2400),
        AccountState(0, 0, 2, 2000, 2000),
    ]
    for call in calls[1:]:
        await settle(replica, call, 10, 300)
    assert await look(replica, RICH.id) == [AccountState(0, 0, 0, 1000, 1000)]


async def test_what_this_replica_has_under_way_is_back_before_its_dollars_are_trusted(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    await know(stage, replica, RICH)
    await have(replica, wish("1", RICH, micros=900_000))
    await stage.lose()
    assert isinstance(await replica.reserve(wish("2", RICH, micros=200_000)), Unread)
    await know(stage, replica, RICH)
    assert isinstance(await replica.reserve(wish("2", RICH, micros=200_000)), Refusal)


async def test_a_limit_that_was_lowered_holds_for_the_next_call(stage: Stage) -> None:
    replica = await stage.replica("gw1")
    for number in range(3):
        await have(replica, wish(f"call-{number}", KEY))
    refused = await replica.reserve(wish("new", Account(KEY.id, Limits(concurrent=2))))
    assert isinstance(refused, Refusal)
    assert refused.limit is Limit.CONCURRENT
    await have(replica, wish("new", Account(KEY.id, Limits(concurrent=4))))


async def test_amounts_beyond_all_reason_are_counted_as_far_as_a_double_is_exact(stage: Stage) -> None:
    replica, account = await stage.replica("gw1"), Account("key:a", Limits(tpm=10**15, rpm=10**12))
    call = wish("1", account, tokens=2**60, micros=2**60)
    assert (await have(replica, call)).states == (AccountState(0, 6, 1, MICROS_MAX, MICROS_MAX),)
    assert TOKENS_MAX * 60_000_000 // 10**15 == 6
    await settle(replica, call, 2**60, 2**60)
    assert await look(replica, "key:a") == [AccountState(0, 6, 0, MICROS_MAX, MICROS_MAX)]
