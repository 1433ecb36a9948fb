"""A port with the node door alone, over the stores in memory, and a verifier that says what it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.upstream_http.address_rules import AddressRules
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.node.door import NodeDoor
from ktms.api.wire import Dates
from ktms.domain.access.actor import Actor, Role
from ktms.domain.joined_node import NodePermit
from ktms.domain.snapshot import Node, Reach
from ktms.engine.ids import Identities
from tests.api.wire_client import Answer, ask, request

OPERATOR = Actor("tester", Role.OPERATOR)
TARGET = "/node/v1/announce"
EPOCH_MS = 1_789_999_999_000
"""A second before the clock of the yard."""

SAID: dict[str, object] = {
    "url": "http://10.0.0.7:8790",
    "token": "canary-node-token",
    "engine": "ollama",
    "engine_version": "0.32.1",
    "epoch": EPOCH_MS,
    "draining": False,
    "slots": 4,
    "models": [
        {"name": "qwen3:4b", "context_window": 8192, "loaded": True},
        {"name": "llama3", "context_window": None, "loaded": False},
    ],
}


@dataclass
class Dialler:
    """Implements the `NodeVerifier` port; `reason` is its answer, `hold` keeps it back."""

    reason: str | None = None
    asked: list[Node] = field(default_factory=list)
    hold: asyncio.Event | None = None

    async def verify(self, node: Node) -> str | None:
        self.asked.append(node)
        if self.hold is not None:
            await self.hold.wait()
        return self.reason


@dataclass
class Yard:
    """What the door is made of, and how to talk to it."""

    rules: AddressRules = field(default_factory=AddressRules)
    store: MemoryStore = field(default_factory=MemoryStore)
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    clock: ManualClock = field(default_factory=ManualClock)
    dialler: Dialler = field(default_factory=Dialler)
    port: int = 0

    def __post_init__(self) -> None:
        entropy = SeededEntropy("yard")
        dates = Dates(self.clock)
        self.nodes = MemoryNodeRegistry(self.store, entropy, self.clock)
        self.catalogue = MemoryCatalogueStore(self.store)
        self.door = NodeDoor(
            self.nodes,
            self.dialler,
            lambda address: self.rules.refusal(Reach.NODE, address),
            identities=Identities(self.clock, entropy),
            clock=self.clock,
            dates=dates,
            telemetry=self.telemetry,
        )
        self.listener = Listener(self.door.routes(), dates, ListenerSettings(), self.telemetry)

    async def issue(self, name: str = "mac-1", *models: str) -> str:
        _, token = await self.nodes.issue(NodePermit(name, models), actor=OPERATOR)
        return token

    async def announce(self, key: str | None, /, *, query: str = "", **members: object) -> Answer:
        """Announce; `members` stand in the body in place of the usual ones."""
        return await self.put(json.dumps({**SAID, **members}).encode(), key, query=query)

    async def put(self, body: bytes, token: str | None, *headers: str, query: str = "") -> Answer:
        given = headers if token is None else (f"Authorization: Bearer {token}", *headers)
        return await ask(self.port, request(TARGET + query, method="PUT", headers=given, body=body))


@asynccontextmanager
async def yard_of(rules: AddressRules | None = None) -> AsyncIterator[Yard]:
    yard = Yard(rules or AddressRules())
    yard.port = await yard.listener.start("127.0.0.1", 0)
    try:
        yield yard
    finally:
        await yard.listener.stop()
