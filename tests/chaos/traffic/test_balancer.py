"""A balancer before gateways that say how they do."""

import asyncio
from dataclasses import dataclass, field

from chaos.traffic.balancer import Balancer


@dataclass
class Replica:
    name: str
    status: int = 200
    asked: int = 0
    again: asyncio.Event = field(default_factory=asyncio.Event)

    async def readyz(self) -> tuple[int, dict[str, object]]:
        self.asked += 1
        if self.asked > 1:
            self.again.set()
        return self.status, {}


async def test_whoever_is_not_ready_has_no_turn() -> None:
    first, second = Replica("gw1"), Replica("gw2", status=503)
    balancer = Balancer([first, second])
    for replica in (first, second):
        await balancer.ask(replica)
    assert balancer.in_turn() == ("gw1",)
    second.status = 200
    await balancer.ask(second)
    assert balancer.in_turn() == ("gw1", "gw2")


async def test_where_nobody_is_ready_everybody_has_a_turn() -> None:
    replica = Replica("gw1", status=0)
    balancer = Balancer([replica])
    await balancer.ask(replica)
    assert balancer.in_turn() == ("gw1",)


async def test_it_asks_again_until_it_is_ended() -> None:
    replica = Replica("gw1")
    async with asyncio.TaskGroup() as group:
        asking = group.create_task(Balancer([replica]).run())
        async with asyncio.timeout(10):
            await replica.again.wait()
        asking.cancel()
    assert asking.cancelled()
