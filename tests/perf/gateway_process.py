"""The gateway as the benchmark's contender: `python -m tests.perf.gateway_process UPSTREAM_PORT [node] [limits]`.

Runs the production assembly on uvloop with one model and one client key. The mock upstream is its vendor or, with
`node`, a machine of ours whose slots are leased; with `limits` key and tenant have every limit there is, none of
which ever binds, and the model has prices. Leases and limits are counted in a Valkey that runs beside. Usage goes
through the real outbox, from memory, to a ledger in this process. Says its port, the key, the process of that
Valkey, and which parts are switched on, since a figure without them means nothing; asked (`tell`), it says what it
has booked and what Redis says of it.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.app.assemble import assemble
from ktms.app.gateway import Gateway, GatewaySettings
from ktms.app.slots import RedisAt, Slots, open_slots
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.ids import NodeName
from tests.perf.book import SumsOnly
from tests.perf.child import allow_many_files, commands, say
from tests.perf.redis_counts import read_counts
from tests.perf.wanted import LIMITS, NODE, Wanted, catalogue
from tests.world.memory_ports import Told, memory_ports

REDIS_TIMEOUT_S = 1.0
"""Ten times the product's default: a run that proves what it counted must not lose a call to a busy machine."""

QUIET_WITHIN_S = 10.0
"""How long what was booked may still be on its way when it is asked for."""

LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Built:
    """A gateway that can be started, and a key it knows."""

    gateway: Gateway
    telemetry: GatewayTelemetry
    key: str
    book: SumsOnly
    spool: MemoryUsageSpool


@dataclass(frozen=True, slots=True)
class Bench:
    """A gateway that runs; `facts` is what the parent wants to know first. `redis` None: it uses none."""

    facts: dict[str, object]
    book: SumsOnly
    spool: MemoryUsageSpool
    redis: str | None
    began_at: float

    async def tell(self, rows: int) -> dict[str, object]:
        """Say what was booked, once that many rows are there and nothing is held, or patience is over."""
        loop = asyncio.get_running_loop()
        over_at = loop.time() + QUIET_WITHIN_S
        counts = await self._counts()
        while loop.time() < over_at and (counts["rows"] < rows or self._waits(counts)):
            await asyncio.sleep(LOOK_EVERY_S)
            counts = await self._counts()
        return {"counts": counts, "lasted_s": loop.time() - self.began_at}

    def _waits(self, counts: dict[str, int]) -> bool:
        return bool(self.spool.depth or counts.get("leases") or counts.get("reservations"))

    async def _counts(self) -> dict[str, int]:
        in_redis = {} if self.redis is None else await read_counts(self.redis, NodeName(NODE))
        return {"rows": self.book.rows, **in_redis}


async def built(
    upstream_port: int, entropy: SystemEntropy, telemetry: GatewayTelemetry, slots: Slots, wanted: Wanted
) -> Built:
    """Assemble the gateway with what is wanted."""
    store, clock = MemoryStore(), SystemClock()
    key = make_key(KeyKind.CLIENT, entropy.token_bytes)
    declared = catalogue(upstream_port, key, wanted)
    actor = Actor("bench", Role.OWNER)
    await MemoryConfigStore(store, entropy).apply(declared, actor=actor, prune=False, dry_run=False)
    book, spool = SumsOnly(clock), MemoryUsageSpool()
    ports = memory_ports(store, clock, slots, Told(book, spool, telemetry, telemetry.exposition))
    return Built(assemble(ports, None, GatewaySettings()), telemetry, key, book, spool)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder that a server may enter which runs as another user."""
    with tempfile.TemporaryDirectory(prefix="ktms-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@asynccontextmanager
async def running(upstream_port: int, wanted: Wanted) -> AsyncIterator[Bench]:
    """Run the gateway with its background work, as in production."""
    entropy = SystemEntropy()
    telemetry = GatewayTelemetry(SystemClock(), LogSettings(fd=os.open(os.devnull, os.O_WRONLY)), version="bench")
    async with AsyncExitStack() as opened:
        redis, beside = None, []
        if wanted.own_node or wanted.limited:
            valkey = EmbeddedValkey(opened.enter_context(open_folder()), entropy=entropy)
            await opened.enter_async_context(valkey)
            redis, beside = RedisAt(Secret(valkey.url), REDIS_TIMEOUT_S, ours=True), [valkey.pid]
        slots = await opened.enter_async_context(open_slots(redis, entropy, telemetry))
        made = await built(upstream_port, entropy, telemetry, slots, wanted)
        async with asyncio.TaskGroup() as group:
            port = await made.gateway.start("127.0.0.1", 0)
            background = [group.create_task(work()) for work in (made.gateway.run, telemetry.run)]
            facts: dict[str, object] = {
                "port": port,
                "key": made.key,
                "beside": beside,
                "switches": wanted.switches,
                "per_request": wanted.per_request,
            }
            url = None if redis is None else redis.url.reveal()
            yield Bench(facts, made.book, made.spool, url, asyncio.get_running_loop().time())
            for task in background:
                task.cancel()
        await made.gateway.stop()
    telemetry.stop()


async def main() -> None:
    """Serve until standard input ends, and tell when asked."""
    allow_many_files()
    words = sys.argv[2:]
    async with running(int(sys.argv[1]), Wanted(own_node=NODE in words, limited=LIMITS in words)) as bench:
        say(**bench.facts)
        async for command in commands():
            assert command["do"] == "tell", command
            say(**await bench.tell(command["rows"]))


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
