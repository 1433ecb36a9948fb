"""The scripts about limits on a real server and their twins, on the same clock, answer alike to the last bit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.keys import BEATS, account_key, held_by, swept_of
from ktms.adapters.redis.line import Words
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.lua import Script, Scripts
from ktms.adapters.redis.quota_words import AccountWords, pack_spent, unpack_counters
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, Spent
from ktms.domain.access.quota_calendar import DAY_US, day_of, month_of
from ktms.domain.units import US_PER_S
from sim.fakes.redis.quota_twins import wall_us
from sim.fakes.redis.server import SimRedis
from sim.seed import Chance, Seed
from tests.contracts.quota_stage import CLOCK, on_a_clock

PATIENT_S = 5.0
CALLS = 1000
SOON_S = 40
TTL_US, TOMBSTONE_MS = 15 * US_PER_S, 660_000
HOLDERS = ["gw1", "gw2", "gw3"]
ACCOUNTS = ["key:a", "key:b", "tenant:t"]
OF_CALL = {f"call-{number}": ACCOUNTS[number % 3 :] for number in range(12)}
"""A call is always of the same accounts."""


def limits(chance: Chance) -> Limits:
    return Limits(
        rpm=chance.pick([None, None, 0, 7, 600, 6000]),
        tpm=chance.pick([None, None, 1000, 7777, 10**9]),
        concurrent=chance.pick([None, None, None, None, 0, 2, 5]),
        usd_per_day_micros=chance.pick([None, None, None, 0, 5000, 10**15]),
        usd_per_month_micros=chance.pick([None, None, None, 9000, 10**15, 10**15]),
    )


def call(chance: Chance, scripts: Scripts, now_us: int) -> tuple[Script, Words]:
    holder, name = chance.pick(HOLDERS), chance.pick(list(OF_CALL))
    accounts = [Account(one, limits(chance)) for one in OF_CALL[name]]
    keys = [account_key(one.id) for one in accounts]
    joined, held, swept = "\0".join(keys), held_by(holder), swept_of(holder)
    tokens, micros = chance.pick([0, 1, 300, 999, 2**60]), chance.pick([0, 1, 400, 999, 2**60])
    day = day_of(now_us) - chance.pick([0, 0, 1])
    strange = chance.some(list(OF_CALL), 2)
    spent = Spent(accounts[0].id, day, month_of(day), micros, micros)
    wish = AccountWords(accounts).wish(tokens, micros)
    used = AccountWords(accounts).used(chance.pick([0, tokens, 500]), chance.pick([0, micros, 500]))
    reserve: tuple[Script, Words] = (
        scripts.reserve,
        (2 + len(keys), BEATS, held, *keys, name, holder, TTL_US, TOMBSTONE_MS, wish, joined),
    )
    some: list[tuple[Script, Words]] = [
        reserve,
        reserve,
        reserve,
        (scripts.settle, (2 + len(keys), held, swept, *keys, name, used)),
        (scripts.settle, (2 + len(keys), held, swept, *keys, name, used)),
        (
            scripts.beat,
            (2, BEATS, held, holder, TTL_US, chance.between(0, 9), *strange),
        ),
        (scripts.declare, (2 + len(keys), held, swept, *keys, name, min(micros, 999), joined)),
        (scripts.raise_spent, (1, keys[0], pack_spent(spent))),
    ]
    return chance.pick(some)


class Both:
    """A real server and a simulated one, at the same moment."""

    def __init__(
        self, real: RedisLink, ours: RedisLink, server: SimRedis, client: Redis, passed: list[float]
    ) -> None:
        self._real, self._ours, self._server, self._client = real, ours, server, client
        self._passed = passed
        self._clocked = on_a_clock(ours.scripts)

    @property
    def scripts(self) -> Scripts:
        return self._ours.scripts

    def now_us(self) -> int:
        return wall_us(self._server.state.data)

    async def lose(self) -> None:
        await self._client.flushall()
        self._server.state.data.clear()
        await self.let_pass(0)

    async def let_pass(self, seconds: float) -> None:
        self._passed.append(seconds)
        whole, us = divmod(self.now_us(), US_PER_S)
        await self._client.hset(CLOCK, mapping={"s": whole, "us": us})

    async def ask(self, script: Script, words: Words) -> tuple[Any, Any]:
        names = {getattr(self.scripts, name).digest: name for name in Scripts.__dataclass_fields__}
        clocked = getattr(self._clocked, names[script.digest])
        return await self._real.ask(words, script=clocked), await self._ours.ask(words, script=script)

    async def accounts(self) -> tuple[Any, list[bytes | None]]:
        keys = [account_key(name) for name in ACCOUNTS]
        return await self._client.mget(keys), [self._server.state.data.get(key.encode()) for key in keys]


@asynccontextmanager
async def both(valkey_url: str) -> AsyncIterator[Both]:
    passed = [1000.0]
    server = SimRedis(now=lambda: sum(passed))
    listening = await asyncio.get_running_loop().create_server(server.connection, "127.0.0.1", 0)
    ours = RedisLink(f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}", timeout_s=PATIENT_S)
    real = RedisLink(valkey_url, timeout_s=PATIENT_S)
    real.scripts = on_a_clock(real.scripts)
    async with listening, real, ours, Redis.from_url(valkey_url) as client:
        two = Both(real, ours, server, client, passed)
        await two.let_pass(0)
        yield two


def sorted_names(answer: Any) -> Any:
    """Names are given in any order."""
    if isinstance(answer, list) and len(answer) > 1 and isinstance(answer[1], bytes):
        return [answer[0], *sorted(answer[1:])]
    return answer


@pytest.mark.parametrize("seed", range(4))
async def test_a_script_and_its_twin_answer_alike(valkey_url: str, seed: int) -> None:
    chance = Seed(seed).chance("calls")
    statuses: dict[int, int] = {}
    async with both(valkey_url) as two:
        for _ in range(CALLS):
            if chance.between(0, 3) == 0:
                await two.let_pass(chance.pick([0.000001, 0.013, 1.0, 4.4, SOON_S, -3.5]))
            if chance.between(1, 80) == 1:
                await two.lose()
            script, words = call(chance, two.scripts, two.now_us())
            real, ours = await two.ask(script, words)
            assert sorted_names(ours) == sorted_names(real)
            theirs, mine = await two.accounts()
            assert mine == theirs
            if script is two.scripts.reserve:
                statuses[real[0]] = statuses.get(real[0], 0) + 1
    assert min(statuses.get(status, 0) for status in (0, 1, 2)) > 10, statuses


async def test_days_and_months_begin_at_the_same_moments(valkey_url: str) -> None:
    account = Account("key:a", Limits(usd_per_day_micros=10**15, usd_per_month_micros=300))
    key = account_key(account.id)
    async with both(valkey_url) as two:
        await two.ask(two.scripts.raise_spent, (1, key, pack_spent(Spent(account.id, 0, 0, 0, 0))))
        for number in range(800):
            left_us = DAY_US - two.now_us() % DAY_US
            await two.let_pass(left_us / US_PER_S - (0.5 if number % 2 else 0) if left_us > US_PER_S else 0.5)
            wish = AccountWords([account]).wish(0, 100)
            words = (3, BEATS, held_by("gw1"), key, f"call-{number}", "gw1", TTL_US, TOMBSTONE_MS, wish, key)
            real, ours = await two.ask(two.scripts.reserve, words)
            assert ours == real
            counters = unpack_counters(real[-1])
            assert (counters.day, counters.month) == (day_of(two.now_us()), month_of(day_of(two.now_us())))


async def test_more_than_one_sweep_holds_is_given_back_by_the_next(valkey_url: str) -> None:
    account = Account("key:a", Limits(concurrent=1000))
    key = account_key(account.id)

    def words(holder: str, name: str) -> Words:
        wish = AccountWords([account]).wish(0, 100)
        return (3, BEATS, held_by(holder), key, name, holder, TTL_US, TOMBSTONE_MS, wish, key)

    async with both(valkey_url) as two:
        for number in range(120):
            await two.ask(two.scripts.reserve, words("gw1", f"call-{number}"))
        await two.let_pass(15)
        running = []
        for number in range(5):
            real, ours = await two.ask(two.scripts.reserve, words("gw2", f"call-{number}"))
            assert ours == real
            running.append(unpack_counters(real[-1]).running)
    assert running == [71, 22, 3, 4, 5]
