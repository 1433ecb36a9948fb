"""X09: limits and prices that are applied again from a file, as at every start, reset nothing that was spent."""

from dataclasses import replace
from decimal import Decimal

import pytest

from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.store import MemoryStore
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Limit, Refusal, Spent
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import Catalogue, ClientKeySpec, PriceSpec, TenantSpec
from ktms.domain.ids import RequestId
from ktms.engine.budget import accounts_of
from ktms.ports.quota_store import Answer, Reserved, Wish

TOKEN = make_key(KeyKind.CLIENT, lambda count: bytes(range(count)))
DOLLAR = 1_000_000
DAILY = Limits(usd_per_day_micros=DOLLAR)
FILE = Catalogue(
    prices=(PriceSpec("local", "small", Decimal("0.1")),),
    tenants=(TenantSpec("team", Limits(usd_per_month_micros=5 * DOLLAR)),),
    client_keys=(ClientKeySpec("app", "team", limits=DAILY, secret=Secret(TOKEN)),),
)


class House:
    """One gateway's stores, which outlive its starts."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self._config = MemoryConfigStore(self._store, SeededEntropy("x09"))
        self.quotas = MemoryQuotaStore()
        self._calls = 0

    async def start(self, file: Catalogue, *, prune: bool = False) -> None:
        await self._config.apply(file, actor=Actor("start", Role.OWNER), prune=prune, dry_run=False)

    async def wish(self, micros: int) -> Wish:
        text = read_key(TOKEN)
        assert text is not None
        (key,) = (await MemoryKeyStore(self._store).find([text.id])).values()
        self._calls += 1
        return Wish(RequestId(f"call-{self._calls}"), accounts_of(key), 0, micros)

    async def knows_nothing_spent(self) -> None:
        """Tell the store what an empty ledger says."""
        accounts = (await self.wish(0)).accounts
        await self.quotas.raise_spent([Spent(account.id, 0, 0, 0, 0) for account in accounts])

    async def spend(self, micros: int) -> None:
        wish = await self.wish(micros)
        assert isinstance(await self.quotas.reserve(wish), Reserved)
        self.quotas.settle(wish, 0, micros)

    async def ask(self, micros: int) -> Answer:
        return await self.quotas.reserve(await self.wish(micros))


@pytest.fixture
async def house() -> House:
    """A gateway whose key has spent nine tenths of its day."""
    made = House()
    await made.start(FILE)
    await made.knows_nothing_spent()
    await made.spend(9 * DOLLAR // 10)
    return made


def refused_by(answer: Answer) -> Limit | None:
    return answer.limit if isinstance(answer, Refusal) else None


@pytest.mark.parametrize("prune", [False, True])
async def test_the_same_file_again_leaves_what_was_spent(house: House, prune: bool) -> None:
    await house.start(FILE, prune=prune)
    assert refused_by(await house.ask(2 * DOLLAR // 10)) is Limit.DAY
    assert isinstance(await house.ask(DOLLAR // 10), Reserved)


async def test_another_price_leaves_what_was_spent(house: House) -> None:
    await house.start(replace(FILE, prices=(PriceSpec("local", "small", Decimal(1), valid_from=86_400),)))
    assert refused_by(await house.ask(2 * DOLLAR // 10)) is Limit.DAY


async def test_a_raised_limit_leaves_the_difference(house: House) -> None:
    (key,) = FILE.client_keys
    await house.start(replace(FILE, client_keys=(replace(key, limits=Limits(usd_per_day_micros=2 * DOLLAR)),)))
    assert refused_by(await house.ask(12 * DOLLAR // 10)) is Limit.DAY
    assert isinstance(await house.ask(11 * DOLLAR // 10), Reserved)


async def test_a_lowered_limit_is_over_at_once(house: House) -> None:
    (key,) = FILE.client_keys
    await house.start(replace(FILE, client_keys=(replace(key, limits=Limits(usd_per_day_micros=DOLLAR // 2)),)))
    assert refused_by(await house.ask(1)) is Limit.DAY


async def test_a_limit_that_was_away_for_a_while_counts_what_was_spent_before(house: House) -> None:
    (key,) = FILE.client_keys
    await house.start(replace(FILE, client_keys=(replace(key, limits=Limits()),)))
    await house.start(FILE)
    assert refused_by(await house.ask(2 * DOLLAR // 10)) is Limit.DAY


async def test_what_a_team_spent_stays_when_its_limit_is_applied_again(house: House) -> None:
    (team,), (key,) = FILE.tenants, FILE.client_keys
    file = replace(
        FILE,
        tenants=(replace(team, limits=Limits(usd_per_month_micros=DOLLAR)),),
        client_keys=(replace(key, limits=Limits()),),
    )
    await house.start(file)
    assert refused_by(await house.ask(2 * DOLLAR // 10)) is Limit.MONTH
    assert isinstance(await house.ask(DOLLAR // 10), Reserved)
