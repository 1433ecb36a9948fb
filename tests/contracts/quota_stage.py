"""Stores of limits that several replicas share: in memory, in a simulated Redis and in a real one.

Time passes only where a stage lets it. The scripts on the real server take the time from a key instead of the
server's own clock (`on_a_clock`); that is all that is changed in them.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Protocol

from redis.asyncio import Redis

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.quotas import MemoryQuotas
from ktms.adapters.redis.keys import PREFIX
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.lua import Script, Scripts, script_of
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.domain.access.limits import Limits
from ktms.domain.access.quota import Account, AccountState, Spent
from ktms.domain.access.quota_calendar import DAY_US, day_of, month_of
from ktms.domain.ids import RequestId
from ktms.domain.units import US_PER_S
from ktms.ports.quota_store import Answer, QuotaStore, Reserved, Wish
from sim.fakes.redis.quota_twins import wall_us
from sim.fakes.redis.server import SimRedis

PATIENT_S = 5.0
CLOCK = f"{PREFIX}:clock-of-tests"
BEGAN_US = 1_790_000_000 * US_PER_S
ABOUT_LIMITS = ("reserve", "settle", "beat", "declare", "raise_spent")
FREE = Limits(concurrent=1_000_000)


class Stage(Protocol):
    """One store."""

    async def replica(self, name: str) -> QuotaStore: ...

    async def lose(self) -> None:
        """Forget everything."""
        ...

    async def let_pass(self, seconds: float) -> None:
        """Let time pass."""
        ...

    def now_us(self) -> int:
        """Microseconds since 1970 by the store's clock."""
        ...


class MemoryStage:
    def __init__(self) -> None:
        self._clock = ManualClock()
        self._quotas = MemoryQuotas(self._clock.wall)

    async def replica(self, name: str) -> QuotaStore:
        return MemoryQuotaStore(self._quotas, name)

    async def lose(self) -> None:
        self._quotas.lose()

    async def let_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)

    def now_us(self) -> int:
        return round(self._clock.wall() * US_PER_S)


class ValkeyStage:
    def __init__(self, url: str, exits: AsyncExitStack) -> None:
        self._url = url
        self._exits = exits
        self._now_us = BEGAN_US

    async def replica(self, name: str) -> QuotaStore:
        link = await self._exits.enter_async_context(RedisLink(self._url, timeout_s=PATIENT_S))
        link.scripts = on_a_clock(link.scripts)
        return RedisQuotaStore(link, name)

    async def lose(self) -> None:
        async with Redis.from_url(self._url) as client:
            await client.flushall()
            await self.set_clock(client)

    async def let_pass(self, seconds: float) -> None:
        self._now_us += round(seconds * US_PER_S)
        async with Redis.from_url(self._url) as client:
            await self.set_clock(client)
            for key in await client.keys():
                if (left_ms := await client.pttl(key)) >= 0:
                    await client.pexpire(key, left_ms - round(seconds * 1000))

    def now_us(self) -> int:
        return self._now_us

    async def set_clock(self, client: Redis) -> None:
        seconds, us = divmod(self._now_us, US_PER_S)
        await client.hset(CLOCK, mapping={"s": seconds, "us": us})


class SimStage:
    """A simulated Redis on a port of loopback, whose time stands still but where it is let pass."""

    def __init__(self, server: SimRedis, passed: list[float], url: str, exits: AsyncExitStack) -> None:
        self._server = server
        self._passed = passed
        self._url = url
        self._exits = exits

    async def replica(self, name: str) -> QuotaStore:
        link = await self._exits.enter_async_context(RedisLink(self._url, timeout_s=PATIENT_S))
        return RedisQuotaStore(link, name)

    async def lose(self) -> None:
        self._server.state.data.clear()

    async def let_pass(self, seconds: float) -> None:
        self._passed.append(seconds)

    def now_us(self) -> int:
        return wall_us(self._server.state.data)


@asynccontextmanager
async def memory_stage() -> AsyncIterator[Stage]:
    yield MemoryStage()


@asynccontextmanager
async def valkey_stage(url: str) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as exits:
        stage = ValkeyStage(url, exits)
        await stage.let_pass(0)
        yield stage


@asynccontextmanager
async def sim_stage() -> AsyncIterator[Stage]:
    passed = [1000.0]
    server = SimRedis(now=lambda: sum(passed))
    async with AsyncExitStack() as exits:
        listening = await exits.enter_async_context(
            await asyncio.get_running_loop().create_server(server.connection, "127.0.0.1", 0)
        )
        url = f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"
        yield SimStage(server, passed, url, exits)


def on_a_clock(scripts: Scripts) -> Scripts:
    """Let the scripts about limits take the time from a key."""
    return replace(scripts, **{name: _on_a_clock(getattr(scripts, name)) for name in ABOUT_LIMITS})


def _on_a_clock(script: Script) -> Script:
    assert "call('TIME')" in script.source
    return script_of(script.source.replace("call('TIME')", f"call('HMGET', '{CLOCK}', 's', 'us')"))


def wish(name: str, *accounts: Account, tokens: int = 0, micros: int = 0) -> Wish:
    return Wish(RequestId(name), accounts, tokens, micros)


async def have(replica: QuotaStore, wanted: Wish) -> Reserved:
    answer = await replica.reserve(wanted)
    assert isinstance(answer, Reserved), answer
    return answer


async def settle(replica: QuotaStore, wanted: Wish, tokens: int, micros: int) -> None:
    """Settle, and see that the store was told: what is asked later is carried out later."""
    replica.settle(wanted, tokens, micros)
    await replica.beat()


async def know(stage: Stage, replica: QuotaStore, *accounts: Account, micros: int = 0) -> None:
    """Tell the store what the ledger knows of accounts."""
    day = day_of(stage.now_us())
    await replica.raise_spent([Spent(account.id, day, month_of(day), micros, micros) for account in accounts])


async def look(replica: QuotaStore, *ids: str) -> list[AccountState]:
    """Give the states of accounts, by a call that takes nothing of them and is given back."""
    looking = wish("look", *(Account(name, FREE) for name in ids))
    states = (await have(replica, looking)).states
    await settle(replica, looking, 0, 0)
    return [replace(state, running=state.running - 1) for state in states]


async def to_midnight(stage: Stage) -> None:
    left_us = DAY_US - stage.now_us() % DAY_US
    await stage.let_pass(left_us / US_PER_S)


def reserved(answers: Sequence[Answer]) -> int:
    return sum(isinstance(answer, Reserved) for answer in answers)


Make = Callable[[], Awaitable[Stage]]
