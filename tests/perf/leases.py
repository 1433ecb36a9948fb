"""`python -m tests.perf.leases`: what a lease costs, in this process and in Redis, on a Valkey of its own.

One process asks, without a gateway around it: the figures are those of the adapter alone.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import redis.asyncio
import uvloop

from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.redis.fleet import RedisFleet
from ktms.adapters.redis.fleet_board import RedisFleetBoard
from ktms.adapters.redis.link import RedisLink
from ktms.adapters.system.entropy import SystemEntropy
from ktms.domain.capacity.node_report import Look, ModelReport, NodeReport
from ktms.domain.ids import LeaseId, ModelName, NodeName, VendorModel
from ktms.ports.lease_store import SlotWish

TIMES = 5_000
NODES = tuple(NodeName(f"node-{number:05}") for number in range(10_000))
REDIS_CPU = ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
PATIENT_S = 5.0
"""A figure is wanted, not a timeout."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Per turn: our CPU and that of Redis in microseconds, and how often Redis read from the socket."""

    ours_us: float
    redis_us: float
    reads: float

    def __str__(self) -> str:
        return f"ours {self.ours_us:8.1f} us   Redis {self.redis_us:8.1f} us   reads {self.reads:7.3f}"


class Meter:
    """Reads the counters of Redis on a connection of its own."""

    def __init__(self, url: str) -> None:
        self._client = redis.asyncio.Redis.from_url(url)

    async def cost(self, work: Callable[[], Awaitable[object]], turns: int) -> Cost:
        """Run work and divide what it took."""
        before, began = await self._counters(), time.process_time()
        await work()
        ours_s, after = time.process_time() - began, await self._counters()
        cpu_s = sum(
            after[name] - before[name] for name in ("used_cpu_user_main_thread", "used_cpu_sys_main_thread")
        )
        reads = after["total_reads_processed"] - before["total_reads_processed"] - 2  # the counters' own
        return Cost(ours_s / turns * 1e6, cpu_s / turns * 1e6, reads / turns)

    async def close(self) -> None:
        """Close."""
        await self._client.aclose()

    async def _counters(self) -> dict[str, Any]:
        return {**await self._client.info("cpu"), **await self._client.info("stats")}


async def in_turn(fleet: RedisFleet, candidates: int, times: int, name: str = "") -> None:
    """Take and release, one after another."""
    wishes = [SlotWish(node, 4) for node in NODES[:candidates]]
    for number in range(times):
        grant = await fleet.take(wishes, LeaseId(f"0192f3a0-7c1e-7000-8000-{name}{number:012}"))
        assert grant.lease is not None
        fleet.release(grant.lease)


async def side_by_side(fleet: RedisFleet, callers: int) -> None:
    """Take and release from so many tasks, on as many nodes."""

    async def one(number: int) -> None:
        for turn in range(TIMES // callers):
            grant = await fleet.take([SlotWish(NODES[number], 4)], LeaseId(f"0192f3a0-7c1e-7000-{number}-{turn}"))
            assert grant.lease is not None
            fleet.release(grant.lease)

    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(one(number))


async def hold(fleet: RedisFleet, leases: int) -> None:
    """Take so many leases on nodes of four slots."""
    for number in range(leases):
        await fleet.take([SlotWish(NODES[number // 4], 4)], LeaseId(f"held-{leases}-{number}"))


async def renew(fleet: RedisFleet, times: int) -> None:
    """Renew all, so many times."""
    for _ in range(times):
        await fleet.renew()


async def measure(url: str) -> None:
    """Measure and print."""
    meter = Meter(url)

    def show(what: str, cost: Cost) -> None:
        sys.stdout.write(f"{what:<44} {cost}\n")

    async with RedisLink(url, timeout_s=PATIENT_S) as link:
        fleet = RedisFleet(link)
        await fleet.open()
        await in_turn(fleet, 1, 500)
        for candidates in (1, 4):
            cost = await meter.cost(partial(in_turn, fleet, candidates, TIMES), TIMES)
            show(f"take and release, {candidates} wished, one at a time", cost)
        for callers in (10, 100):
            cost = await meter.cost(partial(side_by_side, fleet, callers), TIMES)
            show(f"take and release, {callers} at a time", cost)
        for leases in (10, 1_000):
            holder = RedisFleet(link)
            await hold(holder, leases)
            show(f"renewal of {leases} leases", await meter.cost(partial(renew, holder, 100), 100))
        board = RedisFleetBoard(link, "bench")
        report = {VendorModel("qwen3:4b"): ModelReport(loaded=True, window=8192, tokens_per_s=41.5)}
        await board.post([NodeReport(node, Look.ANSWERED, slots=4, busy=1, models=report) for node in NODES])
        for nodes in (10, 10_000):
            read = partial(board.read, NODES[:nodes], [ModelName("small")])
            show(f"board of {nodes} nodes", await meter.cost(read, 1))
    await meter.close()


async def main(folder: Path) -> None:
    """Start a server and measure on it."""
    async with EmbeddedValkey(folder, entropy=SystemEntropy()) as valkey:
        await measure(valkey.url)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="ktms-leases-") as place:
        Path(place).chmod(0o711)
        uvloop.run(main(Path(place)))
