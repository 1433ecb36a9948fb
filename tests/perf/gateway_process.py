"""The gateway as the benchmark's contender: `python -m tests.perf.gateway_process UPSTREAM_PORT [node]`.

Runs the production assembly on uvloop with one model and one client key. The mock upstream is its vendor or, with
`node`, a machine of ours whose slots are leased in a Valkey that runs beside. Says its port, the key, the process
of that Valkey, and which parts are switched on, since a figure without them means nothing.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvloop

from ktms.adapters.embedded.valkey_server import EmbeddedValkey
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import Gateway, GatewaySettings, Ports, assemble
from ktms.app.slots import RedisAt, Slots, open_slots
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ClientKeySpec,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.ids import LOCAL
from ktms.domain.snapshot import Reach
from tests.perf import wire
from tests.perf.child import allow_many_files, commands, say

VENDOR = "mock"
NODE = "node"
"""Name of the machine, and the word on the command line that asks for it."""

NODE_SLOTS = 4096
"""More than any part of the benchmark asks for at once: it measures leases, not queues."""

WINDOW_TOKENS = 32_768

REDIS_TIMEOUT_S = 0.1
"""The product's default."""

SWITCHES = {
    "key check": "on",
    "plan": "on",
    "metrics": "on",
    "log line": "on",
    "usage event": "on",
    "limits in Redis": "off",
}
"""What `built` wires, in words; change both together."""


@dataclass(frozen=True, slots=True)
class Built:
    """A gateway that can be started, and a key it knows."""

    gateway: Gateway
    telemetry: GatewayTelemetry
    key: str


def catalogue(upstream_port: int, key: str, *, own_node: bool) -> Catalogue:
    """Declare the bench's only model on the mock, as a vendor's or as that of a machine of ours."""
    address = f"http://127.0.0.1:{upstream_port}"
    vendor = VendorSpec(VENDOR, VendorKind.OPENAI, f"{address}/v1", keys=(Secret("upstream"),), private=True)
    served = (NodeModelSpec(wire.VENDOR_MODEL, WINDOW_TOKENS),)
    node = NodeSpec(NODE, address, served, engine=EngineKind.VLLM, slots=NODE_SLOTS)
    return Catalogue(
        vendors=() if own_node else (vendor,),
        nodes=(node,) if own_node else (),
        models=(ModelSpec(wire.MODEL, (TargetSpec(LOCAL if own_node else VENDOR, wire.VENDOR_MODEL),)),),
        tenants=(TenantSpec(DEFAULT_TENANT),),
        client_keys=(ClientKeySpec("bench", DEFAULT_TENANT, secret=Secret(key)),),
    )


async def built(
    upstream_port: int, entropy: SystemEntropy, telemetry: GatewayTelemetry, slots: Slots, *, own_node: bool
) -> Built:
    """Assemble the gateway with everything on that exists."""
    store, clock = MemoryStore(), SystemClock()
    key = make_key(KeyKind.CLIENT, entropy.token_bytes)
    actor = Actor("bench", Role.OWNER)
    declared = catalogue(upstream_port, key, own_node=own_node)
    await MemoryConfigStore(store, entropy).apply(declared, actor=actor, prune=False, dry_run=False)
    rules = AddressRules(loopback_nodes=True)
    ports = Ports(
        clock=clock,
        entropy=entropy,
        upstream=HttpUpstream(UpstreamSettings(), rules),
        leases=slots.leases,
        room=slots.room,
        board=slots.board,
        catalogue=MemoryCatalogueStore(store),
        keys=MemoryKeyStore(store),
        nodes=MemoryNodeRegistry(store, entropy, clock),
        address_refusal=partial(rules.refusal, Reach.NODE),
        changes=MemoryChangeFeed(store),
        ledger=MemoryLedger(),
        telemetry=telemetry,
        exposition=telemetry.exposition,
    )
    return Built(assemble(ports, None, GatewaySettings()), telemetry, key)


@contextmanager
def open_folder() -> Iterator[Path]:
    """Make a folder that a server may enter which runs as another user."""
    with tempfile.TemporaryDirectory(prefix="ktms-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        yield folder


@asynccontextmanager
async def running(upstream_port: int, *, own_node: bool) -> AsyncIterator[dict[str, object]]:
    """Run the gateway with its background work, as in production; gives what the parent wants to know."""
    entropy = SystemEntropy()
    telemetry = GatewayTelemetry(SystemClock(), LogSettings(fd=os.open(os.devnull, os.O_WRONLY)), version="bench")
    async with AsyncExitStack() as opened:
        redis, beside = None, []
        if own_node:
            valkey = EmbeddedValkey(opened.enter_context(open_folder()), entropy=entropy)
            await opened.enter_async_context(valkey)
            redis, beside = RedisAt(Secret(valkey.url), REDIS_TIMEOUT_S, ours=True), [valkey.pid]
        slots = await opened.enter_async_context(open_slots(redis, entropy, telemetry))
        made = await built(upstream_port, entropy, telemetry, slots, own_node=own_node)
        async with asyncio.TaskGroup() as group:
            port = await made.gateway.start("127.0.0.1", 0)
            background = [group.create_task(work()) for work in (made.gateway.run, telemetry.run)]
            switches = {**SWITCHES, "lease in Redis": "on" if own_node else "off"}
            yield {"port": port, "key": made.key, "beside": beside, "switches": switches}
            for task in background:
                task.cancel()
        await made.gateway.stop()
    telemetry.stop()


async def main() -> None:
    """Serve until standard input ends."""
    allow_many_files()
    async with running(int(sys.argv[1]), own_node=NODE in sys.argv[2:]) as facts:
        say(**facts)
        async for _ in commands():
            pass


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
