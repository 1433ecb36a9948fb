"""The gateway as the benchmark's contender: `python -m tests.perf.gateway_process UPSTREAM_PORT`.

Runs the production assembly on uvloop with one vendor (the mock upstream), one model and one client key. Says its
port, the key, and which parts are switched on, since a figure without them means nothing.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvloop

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.system.clock import SystemClock
from ktms.adapters.system.entropy import SystemEntropy
from ktms.adapters.telemetry.gateway_telemetry import GatewayTelemetry, LogSettings
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.adapters.upstream_http.client import HttpUpstream
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.app.assemble import Gateway, GatewaySettings, Ports, assemble
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.key_form import KeyKind, make_key
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    DEFAULT_TENANT,
    Catalogue,
    ClientKeySpec,
    ModelSpec,
    TargetSpec,
    TenantSpec,
    VendorKind,
    VendorSpec,
)
from tests.perf import wire
from tests.perf.child import allow_many_files, commands, say

VENDOR = "mock"

SWITCHES = {
    "key check": "on",
    "plan": "on",
    "metrics": "on",
    "log line": "on",
    "usage event": "on",
    "limits in Redis": "off",
    "lease in Redis": "off",
}
"""What `built` wires, in words; change both together."""


@dataclass(frozen=True, slots=True)
class Built:
    """A gateway that can be started, and a key it knows."""

    gateway: Gateway
    telemetry: GatewayTelemetry
    key: str


def catalogue(upstream_port: int, key: str) -> Catalogue:
    """Declare the bench's only model on the mock."""
    url = f"http://127.0.0.1:{upstream_port}/v1"
    return Catalogue(
        vendors=(VendorSpec(VENDOR, VendorKind.OPENAI, url, keys=(Secret("upstream"),), private=True),),
        models=(ModelSpec(wire.MODEL, (TargetSpec(VENDOR, wire.VENDOR_MODEL),)),),
        tenants=(TenantSpec(DEFAULT_TENANT),),
        client_keys=(ClientKeySpec("bench", DEFAULT_TENANT, secret=Secret(key)),),
    )


async def built(upstream_port: int, log_fd: int) -> Built:
    """Assemble the gateway with everything on that exists; its lines go to `log_fd`."""
    store, entropy, clock = MemoryStore(), SystemEntropy(), SystemClock()
    key = make_key(KeyKind.CLIENT, entropy.token_bytes)
    actor = Actor("bench", Role.OWNER)
    declared = catalogue(upstream_port, key)
    await MemoryConfigStore(store, entropy).apply(declared, actor=actor, prune=False, dry_run=False)
    telemetry = GatewayTelemetry(clock, LogSettings(fd=log_fd), version="bench")
    ports = Ports(
        clock=clock,
        entropy=entropy,
        upstream=HttpUpstream(UpstreamSettings(), AddressRules(loopback_nodes=True)),
        leases=MemoryLeaseStore(),
        catalogue=MemoryCatalogueStore(store),
        keys=MemoryKeyStore(store),
        changes=MemoryChangeFeed(store),
        ledger=MemoryLedger(),
        telemetry=telemetry,
        exposition=telemetry.exposition,
    )
    return Built(assemble(ports, None, GatewaySettings()), telemetry, key)


@asynccontextmanager
async def running(upstream_port: int) -> AsyncIterator[tuple[int, str]]:
    """Run the gateway with its background work, as in production; give its port and a key."""
    log_fd = os.open(os.devnull, os.O_WRONLY)
    made = await built(upstream_port, log_fd)
    async with asyncio.TaskGroup() as group:
        port = await made.gateway.start("127.0.0.1", 0)
        background = [group.create_task(work()) for work in (made.gateway.run, made.telemetry.run)]
        yield port, made.key
        for task in background:
            task.cancel()
    await made.gateway.stop()
    made.telemetry.stop()


async def main() -> None:
    """Serve until standard input ends."""
    allow_many_files()
    async with running(int(sys.argv[1])) as (port, key):
        say(port=port, key=key, switches=SWITCHES)
        async for _ in commands():
            pass


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
