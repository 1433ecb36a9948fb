"""P55 and P44 over processes: a budget of 1.00, three replicas that ask for 0.10 fifty times; one is killed."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from redis.asyncio import Redis

from ktms.adapters.redis.keys import account_key
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.redis.quota import RedisQuotaStore
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.domain.access.quota import Spent
from ktms.domain.access.quota_counters import Counters
from tests.adapters.redis.racing_replica import ACCOUNTS, BUDGET, PATIENT_S, WISHED

TTL_S = 1.5
"""Shorter than the port's, so that the test is."""
SWEEP_S = 1.0 + PATIENT_S
"""Those who live look once a second; the rest is for a machine that stands still."""

pytestmark = pytest.mark.service


class Racer:
    """One process."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def say(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")

    async def hear(self) -> tuple[int, int, int]:
        assert self.process.stdout is not None
        held, running, micros = map(int, (await self.process.stdout.readline()).split())
        assert running <= BUDGET // WISHED
        assert micros <= BUDGET
        return held, running, micros

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def racing(url: str, name: str) -> AsyncIterator[Racer]:
    words = ("-m", "tests.adapters.redis.racing_replica", url, name, str(TTL_S))
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=PIPE, stdout=PIPE)
    try:
        yield Racer(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def counters(client: Redis) -> list[Counters]:
    packed = await client.mget([account_key(account.id) for account in ACCOUNTS])
    return [unpack_counters(one) for one in packed if isinstance(one, bytes)]


async def together(racers: list[Racer], command: str) -> list[tuple[int, int, int]]:
    for racer in racers:
        racer.say(command)
    return list(await asyncio.gather(*(racer.hear() for racer in racers)))


async def test_no_race_and_no_kill_spends_more_than_the_budget(valkey_url: str) -> None:
    async with AsyncExitStack() as exits:
        client = await exits.enter_async_context(Redis.from_url(valkey_url))
        link = await exits.enter_async_context(RedisLink(valkey_url, timeout_s=PATIENT_S))
        await RedisQuotaStore(link, "reads").raise_spent([Spent(account.id, 0, 0, 0, 0) for account in ACCOUNTS])
        racers = [await exits.enter_async_context(racing(valkey_url, f"gw{number}")) for number in range(3)]

        held = [answer[0] for answer in await together(racers, "reserve")]
        assert sum(held) == BUDGET // WISHED
        assert [its.running for its in await counters(client)] == [10, 10]

        victim = racers.pop(max(range(3), key=lambda at: held[at]))
        lost = max(held)
        await victim.kill()
        killed_at = asyncio.get_running_loop().time()
        await together(racers, "settle")
        assert [its.day_reserved for its in await counters(client)] == [lost * WISHED] * 2

        while (its := (await counters(client))[0]).day_reserved:
            assert asyncio.get_running_loop().time() - killed_at < TTL_S + SWEEP_S
            assert its.day_settled + its.day_reserved <= BUDGET
            await together(racers, "reserve")
            await together(racers, "settle")

        while sum(answer[0] for answer in await together(racers, "reserve")):
            await together(racers, "settle")
        for its in await counters(client):
            assert BUDGET - WISHED < its.day_settled <= BUDGET
            assert (its.running, its.day_reserved, its.month_reserved) == (0, 0, 0)
        for racer in racers:
            racer.say("end")
            assert await racer.process.wait() == 0
