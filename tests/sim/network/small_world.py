"""A world of real libraries: clients, a relay and a vendor over HTTP, and redis, under faults.

Run as a program with a seed, it prints the digest of its trace.
"""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable

import redis.asyncio
from aiohttp import web
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin, Reach
from ktms.ports.upstream import Flow, Prologue, UpstreamFailed, UpstreamRequest
from sim.ground import ground
from sim.loop import VirtualLoop
from sim.network.network import Network
from sim.seed import Seed
from sim.trace import Trace

TIMERS = Timers(pool_s=1, connect_s=2, first_token_s=5, idle_s=3, total_s=20)
PROLOGUE = Prologue("POST", "/stream", ())


Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Taking:
    """Takes pieces and asks for a pause after each, so that they can be handed on."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> Flow:
        """Take one."""
        self._pieces.append(data)
        return Flow.CHOKED

    def take(self) -> bytes:
        """Give what came since the last time."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class SmallWorld:
    """`ends` says how each call of the client ended."""

    def __init__(self, seed: int, *, noise: float = 0.2, tokens: int = 10) -> None:
        self._seed = Seed(seed)
        self._tokens = tokens
        self.trace = Trace()
        self.loop = VirtualLoop(self._seed.chance("loop"), self.trace, noise=noise)
        self.network = Network(self.loop, self._seed.chance("network"), self.trace)
        self.loop.network = self.network
        self.ends: list[str] = []
        self.received = b""
        self._store: redis.asyncio.Redis | None = None
        for number, name in enumerate(("client", "gw", "vendor", "redis"), start=1):
            self.network.add_host(name, f"10.0.0.{number}")

    def run(self, calls: int, *, per_s: float = 5.0, faults: bool = True) -> None:
        """Run so many calls; with faults, each kind of them strikes while they run."""
        with ground(self._seed.chance("ground"), self.loop):
            self.loop.run_until_complete(self.loop.start_on("vendor#1", self._vendor(), name="vendor"))
            self.loop.run_until_complete(self.loop.start_on("redis#1", self._redis(), name="redis"))
            self.loop.run_until_complete(self.loop.start_on("gw#1", self._gateway(), name="gateway"))
            if faults:
                self._strike()
            work = self._client(calls, per_s)
            self.loop.run_until_complete(self.loop.start_on("client#1", work, name="client"))
            assert self._store is not None
            closing = self._store.aclose()
            self.loop.run_until_complete(self.loop.start_on("gw#1", closing, name="closing"))

    def _strike(self) -> None:
        network, loop = self.network, self.loop
        network.link("vendor", "gw").slice_max_bytes = 40
        network.link("gw", "client").bytes_per_s = 20_000
        for late_s, what in (
            (1.0, lambda: network.refuse("vendor", on=True)),
            (1.5, lambda: network.reset_all("vendor")),
            (2.0, lambda: network.refuse("vendor", on=False)),
            (3.0, lambda: network.partition("gw", "vendor", on=True)),
            (5.0, lambda: network.partition("gw", "vendor", on=False)),
            (5.5, lambda: loop.freeze("vendor#1", loop.time() + 1)),
            (7.0, self._crash_redis),
        ):
            loop.call_later(late_s, what)

    def _crash_redis(self) -> None:
        self.loop.crash("redis#1")
        self.network.crash("redis#1")
        self.restarted = self.loop.start_on("redis#2", self._redis(), name="redis")

    async def _vendor(self) -> None:
        async def stream(request: web.BaseRequest) -> web.StreamResponse:
            await request.read()
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                for number in range(self._tokens):
                    await asyncio.sleep(0.02)
                    await response.write(b"data: token %d\n\n" % number)
                await response.write_eof()
            return response

        await _serve(stream, 80)

    async def _gateway(self) -> None:
        upstream = HttpUpstream(UpstreamSettings(), AddressRules())
        retry = Retry(NoBackoff(), 1)
        self._store = store = redis.asyncio.Redis(host="redis", socket_timeout=1, protocol=2, retry=retry)

        async def call(request: web.BaseRequest) -> web.StreamResponse:
            body = await request.read()
            with contextlib.suppress(redis.RedisError):
                await store.set("last", body)
            response = web.StreamResponse()
            origin = Origin("http", "vendor", 80, "", Reach.PRIVATE)
            answer = await upstream.send(UpstreamRequest(origin, PROLOGUE, body, TIMERS))
            try:
                await response.prepare(request)
                sink = Taking()
                ended = False
                while not ended:
                    ended = await answer.pour(sink)
                    await response.write(sink.take())
            finally:
                answer.close()
            await response.write_eof()
            return response

        async def guarded(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await call(request)
            except UpstreamFailed as failure:
                return web.Response(status=502, text=failure.kind.value)

        await _serve(guarded, 80)

    async def _redis(self) -> None:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                for _ in range(int(line[1:])):
                    await reader.readexactly(int((await reader.readline())[1:]) + 2)
                writer.write(b"+OK\r\n")
            writer.close()

        await asyncio.start_server(speak, None, 6379)

    async def _client(self, calls: int, per_s: float) -> None:
        upstream = HttpUpstream(UpstreamSettings(), AddressRules())
        chance = self._seed.chance("client")
        async with asyncio.TaskGroup() as group:
            for number in range(calls):
                group.create_task(self._one(upstream, number))
                await asyncio.sleep(chance.wait_s(1 / per_s))
        await upstream.close()

    async def _one(self, upstream: HttpUpstream, number: int) -> None:
        origin = Origin("http", "gw", 80, "", Reach.PRIVATE)
        sink = Taking()
        try:
            answer = await upstream.send(UpstreamRequest(origin, PROLOGUE, b"call %d" % number, TIMERS))
            try:
                while not await answer.pour(sink):
                    self.received += sink.take()
                self.ends.append(str(answer.status))
            finally:
                answer.close()
        except UpstreamFailed as failure:
            self.ends.append(failure.kind.value)


async def _serve(handler: Handler, port: int) -> None:
    """Serve every path with aiohttp's own server."""
    runner = web.ServerRunner(web.Server(handler))
    await runner.setup()
    await web.TCPSite(runner, None, port).start()


def main() -> None:
    """Print the digest of a world's trace."""
    world = SmallWorld(int(sys.argv[1]))
    world.run(60)
    world.loop.close()
    sys.stdout.write(world.trace.digest())


if __name__ == "__main__":
    main()
