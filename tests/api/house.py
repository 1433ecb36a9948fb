"""A whole gateway on a port of loopback: the production assembly over memory adapters, its targets scripted."""

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ktms.adapters.memory.answer_cache import MemoryAnswerCache
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.lease_store import MemoryLeaseStore
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.quota_store import MemoryQuotaStore
from ktms.adapters.memory.repeats import MemoryRepeats
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.memory.upstream import MemoryUpstream, Script
from ktms.adapters.memory.usage_spool import MemoryUsageSpool
from ktms.adapters.system.clock import SystemClock
from ktms.app.assemble import assemble
from ktms.app.gateway import Gateway, GatewaySettings, Ports
from ktms.domain.catalogue import Catalogue
from ktms.ports.upstream import UpstreamRequest
from tests.api.wire_client import Answer, ask, request
from tests.engine.rig import CATALOGUE, HOSTS, KEY, NODE_MODEL, TEST, listing
from tests.world.memory_ports import batch_ports

BEARER = f"Authorization: Bearer {KEY}"
PAGE = b"# the metrics page\n"


@dataclass
class House:
    """What the gateway is made of, and how to talk to it."""

    settings: GatewaySettings
    catalogue: Catalogue
    store: MemoryStore = field(default_factory=MemoryStore)
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    ledger: MemoryUsageSpool = field(default_factory=MemoryUsageSpool)
    book: MemoryLedger = field(default_factory=MemoryLedger)
    quotas: MemoryQuotaStore = field(default_factory=MemoryQuotaStore)
    answers: MemoryAnswerCache = field(default_factory=MemoryAnswerCache)
    port: int = 0

    def __post_init__(self) -> None:
        entropy, machines = SeededEntropy("house"), MemoryLeaseStore()
        self.upstream = MemoryUpstream(self._script)
        self._scripts: dict[str, deque[Script]] = {}
        self.config = MemoryConfigStore(self.store, entropy)
        self.repeats = MemoryRepeats(self.store)
        self.shelf = MemoryShelf(SystemClock(), self.store)
        self.ports = Ports(
            clock=SystemClock(),
            entropy=entropy,
            upstream=self.upstream,
            leases=machines,
            room=machines,
            board=machines,
            catalogue=MemoryCatalogueStore(self.store),
            keys=MemoryKeyStore(self.store),
            nodes=MemoryNodeRegistry(self.store, entropy, SystemClock()),
            address_refusal=lambda _: None,
            changes=MemoryChangeFeed(self.store),
            ledger=self.book,
            reports=self.book,
            quotas=self.quotas,
            answers=self.answers,
            repeats=self.repeats,
            spool=self.ledger,
            batches=batch_ports(self.shelf),
            telemetry=self.telemetry,
            exposition=lambda: PAGE,
        )
        self.gateway: Gateway = assemble(self.ports, None, self.settings)

    async def start(self) -> None:
        await self.config.apply(self.catalogue, actor=TEST, prune=False, dry_run=False)
        self.port = await self.gateway.start("127.0.0.1", 0)

    def says(self, target: str, *scripts: Script) -> None:
        """Tell what a target answers to each request; the last one stands for all that follow."""
        self._scripts[target] = deque(scripts)

    def _script(self, request: UpstreamRequest) -> Script:
        if request.prologue.method == "GET":
            return listing(NODE_MODEL)
        scripts = self._scripts[HOSTS[request.origin.host]]
        return scripts.popleft() if len(scripts) > 1 else scripts[0]

    async def get(self, target: str, *headers: str, key: str | None = BEARER) -> Answer:
        given = headers if key is None else (key, *headers)
        return await ask(self.port, request(target, headers=given))

    async def chat(self, *headers: str, key: str | None = BEARER, **members: object) -> Answer:
        """Ask for a chat; `members` stand in the body."""
        return await ask(self.port, chat(*headers, key=key, **members))

    async def post(self, body: bytes, *headers: str, target: str = "/v1/chat/completions") -> Answer:
        return await ask(self.port, request(target, method="POST", headers=(BEARER, *headers), body=body))


def chat(*headers: str, key: str | None = BEARER, **members: object) -> bytes:
    """Write a request for a chat."""
    body = {"model": "cloudy", "messages": [{"role": "user", "content": "hi"}], **members}
    given = headers if key is None else (key, *headers)
    return request("/v1/chat/completions", method="POST", headers=given, body=json.dumps(body).encode())


@asynccontextmanager
async def house_of(
    settings: GatewaySettings | None = None, catalogue: Catalogue = CATALOGUE
) -> AsyncIterator[House]:
    house = House(settings or GatewaySettings(), catalogue)
    await house.start()
    try:
        yield house
    finally:
        await house.gateway.stop()
