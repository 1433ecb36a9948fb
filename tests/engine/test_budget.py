import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal

import pytest

from ktms.adapters.memory.client import MemoryClient
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.upstream import Head, Silence
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account
from ktms.domain.access.secret import Secret
from ktms.domain.call import Route
from ktms.domain.catalogue import Catalogue, ClientKeySpec, DollarLimitMode, PriceSpec, TenantSpec
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import KeyId
from ktms.engine.budget import ACCOUNTS_MAX, accounts_of
from ktms.engine.call import Failed, Result, Streamed, Whole
from ktms.engine.settings import EngineSettings
from ktms.ports.quota_store import Answer, Unread, Wish
from ktms.ports.telemetry import Dependency
from tests.engine.rig import CATALOGUE, EVENTS, KEY, Rig, client_key, key_id, refusal, rig_of, stream, whole
from tests.engine.virtual_loop import after, settle
from tests.world.events import C

DOLLAR = 1_000_000
PRICES = (
    PriceSpec("alpha", "gpt", input=Decimal(1), output=Decimal(2)),
    PriceSpec("beta", "mistral", input=Decimal(3), output=Decimal(5)),
)


def limited(limits: Limits, *, tenant: Limits | None = None, mode: DollarLimitMode | None = None) -> Catalogue:
    """Give the catalogue with prices, and with these limits on its key."""
    key = ClientKeySpec("app", "default", limits=limits, dollar_limit_mode=mode, secret=Secret(KEY))
    team = TenantSpec("default", limits=tenant or Limits())
    return replace(CATALOGUE, prices=PRICES, client_keys=(key,), tenants=(team,))


def cause(result: Result) -> Problem:
    assert isinstance(result, Failed), result
    return result.problem


@pytest.fixture
async def dear() -> AsyncIterator[Rig]:
    rig = await rig_of(catalogue=limited(Limits(usd_per_day_micros=DOLLAR)))
    rig.says("alpha", whole())
    yield rig
    assert rig.quotas.quotas.counters(account(rig)).day_reserved == 0, "a reservation was kept"


def account(_rig: Rig) -> str:
    return f"key:{key_id()}"


def test_only_accounts_with_limits_are_charged() -> None:
    rpm = Limits(rpm=1)
    assert accounts_of(client_key()) == ()
    assert accounts_of(client_key(limits=rpm)) == (Account("key:0000000000", rpm),)
    assert accounts_of(client_key(limits=rpm, tenant_limits=rpm)) == (
        Account("key:0000000000", rpm),
        Account("tenant:default", rpm),
    )


async def test_a_key_without_limits_asks_nobody(rig: Rig) -> None:
    rig.quotas.quotas.away = "away"
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call()), Whole)
    assert not rig.ledger.events[0].uncounted


async def test_what_was_used_is_charged_to_the_micro_dollar(dear: Rig) -> None:
    assert isinstance(await dear.handle(dear.call()), Whole)
    assert dear.quotas.quotas.counters(account(dear)).day_settled == 7 * 1 + 2 * 2


async def test_attempts_that_cost_nothing_charge_nothing(dear: Rig) -> None:
    dear.says("alpha", refusal(500))
    dear.says("beta", refusal(500))
    assert cause(await dear.handle(dear.call())).code == ErrorCode.UPSTREAM_ERROR
    assert dear.quotas.quotas.counters(account(dear)).day_settled == 0


async def test_the_dearest_target_of_the_plan_is_reserved() -> None:
    rig = await rig_of(catalogue=limited(Limits(usd_per_day_micros=1_000)))
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call(max_tokens=199)), Whole)
    refused = cause(await rig.handle(rig.call(max_tokens=201)))
    assert refused.code == ErrorCode.BUDGET_EXCEEDED, "beta would take more than 1,000 micros"
    assert refused.retry_after_s is None, "no day is long enough for this one"


async def test_dollars_that_are_left_and_too_few_are_not_called_used_up() -> None:
    rig = await rig_of(catalogue=limited(Limits(usd_per_day_micros=1_000)))
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call(max_tokens=199)), Whole)
    refused = cause(await rig.handle(rig.call(max_tokens=199)))
    assert refused.code == ErrorCode.BUDGET_EXCEEDED
    assert "less than this call may cost; a smaller max_tokens needs less" in refused.message
    assert refused.retry_after_s is not None


async def test_an_answer_without_a_bound_is_taken_to_be_usual() -> None:
    rig = await rig_of(catalogue=limited(Limits(tpm=1_023)))
    assert cause(await rig.handle(rig.call())).code == ErrorCode.RATE_LIMIT_EXCEEDED


async def test_several_answers_are_reserved_as_several() -> None:
    rig = await rig_of(catalogue=limited(Limits(tpm=100)))
    rig.says("alpha", whole())
    assert cause(await rig.handle(rig.call(max_tokens=40, n=3))).code == ErrorCode.RATE_LIMIT_EXCEEDED
    assert isinstance(await rig.handle(rig.call(max_tokens=40, n=2)), Whole)


async def test_a_completion_that_is_the_best_of_several_is_reserved_as_several() -> None:
    rig = await rig_of(catalogue=limited(Limits(tpm=100)))
    rig.says("alpha", whole())
    call = rig.call(route=Route.COMPLETIONS, prompt=["a", "b"], max_tokens=20, best_of=3)
    assert cause(await rig.handle(call)).code == ErrorCode.RATE_LIMIT_EXCEEDED
    assert isinstance(
        await rig.handle(rig.call(route=Route.COMPLETIONS, prompt="a", max_tokens=20, best_of=3)), Whole
    )


async def test_what_is_hidden_among_the_tools_is_reserved_too() -> None:
    rig = await rig_of(catalogue=limited(Limits(tpm=1_000)))
    rig.says("alpha", whole())
    tools = [{"type": "function", "function": {"name": "f", "description": "x" * 4_000}}]
    assert cause(await rig.handle(rig.call(max_tokens=1, tools=tools))).code == ErrorCode.RATE_LIMIT_EXCEEDED
    assert isinstance(await rig.handle(rig.call(max_tokens=1)), Whole)


async def test_a_reached_rate_is_429_with_the_moment_to_come_back() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=2)))
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call()), Whole)
    assert isinstance(await rig.handle(rig.call()), Whole)
    refused = cause(await rig.handle(rig.call()))
    assert (refused.code, refused.type) == (ErrorCode.RATE_LIMIT_EXCEEDED, "rate_limit_error")
    assert refused.retry_after_s is not None
    assert refused.retry_after_s == pytest.approx(30, abs=0.1)
    await after(refused.retry_after_s)
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_a_refused_call_dials_nobody_and_is_booked() -> None:
    rig = await rig_of(catalogue=limited(Limits(concurrent=1)))
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(rig.handle(rig.call(stream=True)))
        await settle()
        refused = cause(await rig.handle(rig.call()))
        running.cancel()
    assert refused.code == ErrorCode.RATE_LIMIT_EXCEEDED
    assert "requests at once" in refused.message
    assert rig.dialled == ["alpha"]
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call()), Whole), "the leaver's place is free"


async def test_the_team_is_told_from_the_key() -> None:
    rig = await rig_of(catalogue=limited(Limits(), tenant=Limits(rpm=1)))
    rig.says("alpha", whole())
    await rig.handle(rig.call())
    assert "team's limit of requests per minute" in cause(await rig.handle(rig.call())).message


async def test_answers_and_refusals_carry_what_is_left() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=2)))
    rig.says("alpha", whole())
    told = await rig.handle(rig.call())
    assert isinstance(told, Whole)
    assert dict(told.headers)["x-ratelimit-remaining-requests"] == "1"
    await rig.handle(rig.call())
    refused = await rig.handle(rig.call())
    assert isinstance(refused, Failed)
    assert dict(refused.headers)["x-ratelimit-remaining-requests"] == "0"


async def test_a_streamed_answer_carries_what_is_left() -> None:
    rig = await rig_of(catalogue=limited(Limits(tpm=100_000)))
    rig.says("alpha", stream("a", "b"))
    client = MemoryClient()
    assert await rig.handle(rig.call(stream=True), client) == Streamed()
    assert client.headers is not None
    assert dict(client.headers)["x-ratelimit-limit-tokens"] == "100000"


async def test_a_leaver_is_charged_for_what_was_sent(dear: Rig) -> None:
    dear.says("alpha", (Head(200, EVENTS), C("some words"), Silence()))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(dear.handle(dear.call(stream=True)))
        await settle()
        call.cancel()
    assert dear.quotas.quotas.counters(account(dear)).day_settled > 0


async def test_a_client_that_leaves_before_the_first_word_has_used_its_request() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=1)))
    rig.says("alpha", (Silence(),))
    async with asyncio.TaskGroup() as group:
        call = group.create_task(rig.handle(rig.call(messages=[])))
        await settle()
        call.cancel()
    assert rig.dialled == ["alpha"]
    assert cause(await rig.handle(rig.call())).code == ErrorCode.RATE_LIMIT_EXCEEDED


async def test_a_call_that_nobody_could_answer_gives_its_request_back() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=1)))
    rig.says("alpha", refusal(500))
    rig.says("beta", refusal(500))
    assert cause(await rig.handle(rig.call())).code == ErrorCode.UPSTREAM_ERROR
    rig.says("alpha", whole())
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_rates_are_skipped_while_the_store_is_away() -> None:
    """FR1."""
    rig = await rig_of(catalogue=limited(Limits(rpm=1, concurrent=1)))
    rig.says("alpha", whole())
    rig.quotas.quotas.away = "away"
    for _ in range(3):
        assert isinstance(await rig.handle(rig.call()), Whole)
    assert [event.uncounted for event in rig.ledger.events] == [True] * 3
    assert rig.telemetry.failures.count((Dependency.REDIS, "reserve", "away")) == 3


async def test_open_dollars_pass_uncounted_while_the_store_is_away(dear: Rig) -> None:
    """FR2."""
    dear.quotas.quotas.away = "silenced"
    assert isinstance(await dear.handle(dear.call()), Whole)
    assert dear.ledger.events[0].uncounted


@pytest.mark.parametrize("whose", ["key", "tenant", "gateway"])
async def test_closed_dollars_are_refused_while_the_store_is_away(whose: str) -> None:
    """FR3."""
    closed = DollarLimitMode.CLOSED
    limits = Limits(usd_per_month_micros=DOLLAR)
    catalogue = limited(limits, mode=closed if whose == "key" else DollarLimitMode.OPEN)
    if whose == "tenant":
        catalogue = replace(catalogue, tenants=(TenantSpec("default", dollar_limit_mode=closed),))
    rig = await rig_of(catalogue=catalogue, settings=EngineSettings(dollars_closed=whose == "gateway"))
    rig.quotas.quotas.away = "timeout"
    refused = cause(await rig.handle(rig.call()))
    assert (refused.code, bool(refused.retry_after_s)) == (ErrorCode.BUDGET_UNAVAILABLE, True)
    assert rig.dialled == []


async def test_closed_dollars_do_not_concern_keys_without_limits_of_dollars() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=5), mode=DollarLimitMode.CLOSED))
    rig.says("alpha", whole())
    rig.quotas.quotas.away = "away"
    assert isinstance(await rig.handle(rig.call()), Whole)


async def test_spending_that_was_forgotten_is_read_from_the_ledger_first(dear: Rig) -> None:
    """FR11."""
    await dear.handle(dear.call())
    await dear.reports.send(dear.ledger.events)
    dear.quotas.quotas.lose()
    await dear.handle(dear.call())
    assert dear.quotas.quotas.counters(account(dear)).day_settled == 2 * 11


@pytest.mark.parametrize(
    ("mode", "code"), [(DollarLimitMode.OPEN, None), (DollarLimitMode.CLOSED, ErrorCode.BUDGET_UNAVAILABLE)]
)
async def test_forgotten_spending_that_nobody_can_tell_is_like_a_store_that_is_away(
    mode: DollarLimitMode, code: ErrorCode | None
) -> None:
    rig = await rig_of(catalogue=limited(Limits(usd_per_day_micros=DOLLAR), mode=mode))
    rig.says("alpha", whole())
    rig.reports.away = "away"
    result = await rig.handle(rig.call())
    assert (result.problem.code if isinstance(result, Failed) else None) == code
    assert rig.telemetry.failures == [(Dependency.LEDGER, "reserve", "away")]


async def test_rates_are_applied_though_nobody_can_tell_what_was_spent() -> None:
    rig = await rig_of(catalogue=limited(Limits(rpm=2, usd_per_day_micros=1)))
    rig.says("alpha", whole())
    rig.reports.away = "away"
    ends = [await rig.handle(rig.call()) for _ in range(3)]
    assert [isinstance(end, Whole) for end in ends] == [True, True, False]
    assert cause(ends[-1]).code == ErrorCode.RATE_LIMIT_EXCEEDED
    assert [event.uncounted for event in rig.ledger.events] == [True, True]
    assert rig.quotas.quotas.counters(account(rig)).day_settled == 2 * 11, "charged all the same"


class NotedQuotas(MemoryQuotaStore):
    """Keeps what was wished for; while it `forgets`, it knows of no account what it has spent."""

    def __init__(self) -> None:
        super().__init__()
        self.wishes: list[Wish] = []
        self.forgets = False

    async def reserve(self, wish: Wish) -> Answer:
        self.wishes.append(wish)
        return Unread(wish.accounts) if self.forgets else await super().reserve(wish)


async def noted(catalogue: Catalogue) -> tuple[Rig, NotedQuotas]:
    quotas = NotedQuotas()
    rig = Rig(EngineSettings(), catalogue, quotas=quotas)
    await rig.start()
    rig.says("alpha", whole())
    return rig, quotas


@pytest.mark.parametrize(("window", "answer_tokens"), [(2_000, 500), (100_000, 1_024), (None, 1_024)])
async def test_an_answer_without_a_bound_is_a_quarter_of_the_window_at_most(
    window: int | None, answer_tokens: int
) -> None:
    cloudy = replace(CATALOGUE.models[0], context_window=window)
    rig, quotas = await noted(replace(limited(Limits(tpm=1_000_000)), models=(cloudy,), chains=()))
    await rig.handle(rig.call(max_tokens=1))
    await rig.handle(rig.call())
    bounded, unbounded = quotas.wishes
    assert unbounded.tokens - bounded.tokens == answer_tokens - 1


async def test_targets_without_a_price_reserve_no_dollars() -> None:
    rig, quotas = await noted(replace(limited(Limits(usd_per_day_micros=DOLLAR)), prices=()))
    assert isinstance(await rig.handle(rig.call()), Whole)
    assert quotas.wishes[-1].micros == 0


async def test_a_store_that_forgets_what_it_was_just_told_is_like_one_that_is_away() -> None:
    rig, quotas = await noted(limited(Limits(usd_per_day_micros=DOLLAR)))
    quotas.forgets = True
    assert isinstance(await rig.handle(rig.call()), Whole)
    assert len(quotas.wishes) == 2
    assert rig.ledger.events[0].uncounted
    assert rig.telemetry.failures == [(Dependency.REDIS, "reserve", "unread")]


def test_what_a_key_is_charged_for_follows_the_key_and_not_its_id(rig: Rig) -> None:
    assert not rig.budget.is_limited(client_key())
    assert rig.budget.is_limited(client_key(limits=Limits(rpm=1)))


def test_a_key_whose_accounts_were_forgotten_is_charged_for_the_same_again(rig: Rig) -> None:
    mine = client_key(limits=Limits(rpm=1))
    assert rig.budget.is_limited(mine)
    for number in range(ACCOUNTS_MAX + 1):
        rig.budget.is_limited(replace(mine, id=KeyId(f"{number:010}")))
    assert rig.budget.is_limited(mine)
    assert len(rig.budget._accounts) <= ACCOUNTS_MAX
