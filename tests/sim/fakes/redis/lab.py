"""One simulated Redis and one gateway's host, on a simulated network and virtual time."""

from collections.abc import Awaitable, Callable

from sim.fakes.redis.server import SimRedis
from sim.ground import ground
from sim.loop import VirtualLoop
from sim.network.network import Network
from sim.seed import Seed
from sim.trace import Trace

URL = "redis://redis:6379/0"


class Lab:
    """One server and one gateway's host."""

    def __init__(self) -> None:
        seed = Seed(1)
        self.trace = Trace()
        self.loop = VirtualLoop(seed.chance("noise"), self.trace)
        self.network = Network(self.loop, seed.chance("network"), self.trace)
        self.loop.network = self.network
        self.redis = SimRedis()
        for number, host in enumerate(("gw1", "redis"), start=1):
            self.network.add_host(host, f"10.0.0.{number}")

    def run(self, work: Callable[["Lab"], Awaitable[None]]) -> "Lab":
        """Run work on the gateway's host."""

        async def listen() -> None:
            await self.loop.create_server(self.redis.connection, "redis", 6379)

        async def act() -> None:
            await work(self)

        with ground(Seed(1).chance("ground"), self.loop):
            try:
                self.loop.run_until_complete(self.loop.start_on("redis#1", listen(), name="listen"))
                self.loop.run_until_complete(self.loop.start_on("gw1#1", act(), name="work"))
            finally:
                self.loop.close()
        return self
