"""Stores of a fleet that several replicas share: in memory, in a simulated Redis and in a real one.

A stage makes replicas, forgets everything, and lets time pass: by hand where it can, else by asking on until a
fact is there.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis

from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.fleet_replica import MemoryReplica
from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.link import RedisLink
from ktms.domain.ids import LeaseId, ModelName, NodeName
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import LEASE_TTL_S, Grant, Lease, LeaseStore, SlotWish
from ktms.ports.waiting_room import WaitingRoom
from sim.fakes.redis.server import SimRedis
from tests.adapters.redis.stand_in import PATIENT_S

MAC, LINUX = NodeName("mac-1"), NodeName("linux-1")
SMALL, LARGE = ModelName("small"), ModelName("large")

GRACE_S = 6.0


@dataclass(frozen=True, slots=True)
class Replica:
    """One gateway's three ports."""

    leases: LeaseStore
    room: WaitingRoom
    board: FleetBoard

    async def take(self, lease_id: str, *wishes: SlotWish) -> Grant:
        return await self.leases.take(wishes, LeaseId(lease_id))

    async def have(self, lease_id: str, *wishes: SlotWish) -> Lease:
        lease = (await self.take(lease_id, *wishes)).lease
        assert lease is not None
        return lease

    async def busy(self, node: NodeName = MAC) -> int:
        return (await self.board.read([node], [])).busy[node]

    async def waiting(self, model: ModelName = SMALL) -> int:
        return (await self.board.read([], [model])).waiting[model]


class Stage(Protocol):
    """One store. It grants at once unless `opened` was False."""

    async def replica(self, name: str) -> Replica: ...

    async def lose(self) -> None:
        """Forget everything."""
        ...

    async def cut(self) -> None:
        """Lose the connections of those who hear news."""
        ...

    def let_pass(self, seconds: float) -> None:
        """Let time pass, where it can be let."""
        ...


class MemoryStage:
    def __init__(self, ttl_s: float, grace_s: float, *, opened: bool) -> None:
        self._clock = ManualClock()
        self._store = MemoryFleetStore(self._clock, ttl_s, grace_s, opened)

    async def replica(self, name: str) -> Replica:
        made = MemoryReplica(self._store, name)
        return Replica(made, made, made)

    async def lose(self) -> None:
        self._store.lose()

    async def cut(self) -> None:
        self._store.cut_news()

    def let_pass(self, seconds: float) -> None:
        self._clock.advance(seconds)


class RedisStage:
    def __init__(self, url: str, ttl_s: float, grace_s: float, exits: AsyncExitStack) -> None:
        self._url = url
        self._ttl_s = ttl_s
        self._grace_s = grace_s
        self._exits = exits

    async def replica(self, name: str) -> Replica:
        link = await self._exits.enter_async_context(RedisLink(self._url, timeout_s=PATIENT_S))
        fleet = RedisFleet(link, ttl_s=self._ttl_s, grace_s=self._grace_s)
        return Replica(fleet, fleet, RedisFleetBoard(link, name))

    async def open(self) -> None:
        async with RedisLink(self._url, timeout_s=PATIENT_S) as link:
            await RedisFleet(link).open()

    async def lose(self) -> None:
        async with Redis.from_url(self._url) as client:
            await client.flushall()

    async def cut(self) -> None:
        async with Redis.from_url(self._url) as client:
            await client.client_kill_filter(_type="pubsub")

    def let_pass(self, seconds: float) -> None:
        """Time passes by itself."""


class SimStage(RedisStage):
    """A simulated Redis on a port of loopback; its time is ours and what was let pass."""

    def __init__(self, server: SimRedis, passed: list[float], *rest: object) -> None:
        super().__init__(*rest)  # type: ignore[arg-type]  # as in RedisStage
        self._server = server
        self._passed = passed

    async def cut(self) -> None:
        self._server.mode("redis_away", on=True)
        self._server.mode("redis_away", on=False)

    def let_pass(self, seconds: float) -> None:
        self._passed.append(seconds)


Make = Callable[..., Awaitable[Stage]]
"""Takes ttl_s, grace_s and opened."""


@asynccontextmanager
async def memory_stages() -> AsyncIterator[Make]:
    async def make(ttl_s: float = LEASE_TTL_S, grace_s: float = GRACE_S, *, opened: bool = True) -> Stage:
        return MemoryStage(ttl_s, grace_s, opened=opened)

    yield make


@asynccontextmanager
async def redis_stages(url: str) -> AsyncIterator[Make]:
    async with AsyncExitStack() as exits:

        async def make(ttl_s: float = LEASE_TTL_S, grace_s: float = GRACE_S, *, opened: bool = True) -> Stage:
            stage = RedisStage(url, ttl_s, grace_s, exits)
            if opened:
                await stage.open()
            return stage

        yield make


@asynccontextmanager
async def sim_stages() -> AsyncIterator[Make]:
    passed: list[float] = []
    loop = asyncio.get_running_loop()
    server = SimRedis(now=lambda: loop.time() + sum(passed))
    async with AsyncExitStack() as exits:
        listening = await exits.enter_async_context(await loop.create_server(server.connection, "127.0.0.1", 0))
        url = f"redis://127.0.0.1:{listening.sockets[0].getsockname()[1]}/0"

        async def make(ttl_s: float = LEASE_TTL_S, grace_s: float = GRACE_S, *, opened: bool = True) -> Stage:
            stage = SimStage(server, passed, url, ttl_s, grace_s, exits)
            if opened:
                await stage.open()
            return stage

        yield make


async def eventually(stage: Stage, fact: Callable[[], Awaitable[bool]], step_s: float = 0.01) -> None:
    """Ask until it is so, letting time pass."""
    async with asyncio.timeout(PATIENT_S):
        while not await fact():
            stage.let_pass(step_s)
            await asyncio.sleep(0)
