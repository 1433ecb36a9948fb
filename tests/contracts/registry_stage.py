"""Registries of nodes with the stores beside them, in memory and on a real Postgres."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.change_feed import PostgresChangeFeed
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import Announcement
from ktms.domain.catalogue import Catalogue, NodeModelSpec, NodeSpec
from ktms.domain.ids import KeyId, NodeName
from ktms.domain.joined_node import NodePermit
from ktms.domain.snapshot import Node
from ktms.ports.catalogue import CatalogueStore
from ktms.ports.change_feed import ChangeFeed
from ktms.ports.config_store import ConfigStore
from ktms.ports.node_registry import NodeRegistry
from tests.contracts.conftest import Gate
from tests.domain.announcements import SAID

OPERATOR = Actor("tester", Role.OPERATOR)
MAC = NodeName("mac-1")
DECLARED = NodeSpec(
    "mac-1", "http://10.0.0.1:1", (NodeModelSpec("qwen3:4b", 4096),), token=Secret("declared-token"), region="fr"
)

Pass = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Fleet:
    """A registry and the stores beside it; `passes` lets time pass since nodes were heard."""

    nodes: NodeRegistry
    catalogue: CatalogueStore
    config: ConfigStore
    feed: ChangeFeed
    passes: Pass
    take_away: Callable[[], Awaitable[None]]

    async def join(self, name: str = "mac-1", *models: str, said: Announcement = SAID) -> KeyId:
        key, _ = await self.nodes.issue(NodePermit(name, models), actor=OPERATOR)
        await self.nodes.announce(key.id, said)
        return key.id

    async def declare(self, *nodes: NodeSpec) -> None:
        await self.config.apply(Catalogue(nodes=nodes), actor=OPERATOR, prune=False, dry_run=False)

    async def served(self) -> tuple[Node, ...]:
        return (await self.catalogue.snapshot()).nodes


def fleet_in_memory(entropy: SeededEntropy) -> Fleet:
    store, clock = MemoryStore(), ManualClock()

    async def passes(seconds: float) -> None:
        clock.advance(seconds)

    async def take_away() -> None:
        store.away = True

    return Fleet(
        MemoryNodeRegistry(store, entropy, clock),
        MemoryCatalogueStore(store),
        MemoryConfigStore(store, entropy),
        MemoryChangeFeed(store),
        passes,
        take_away,
    )


def fleet_on_postgres(
    database: Database,
    gated_dsn: str,
    postgres_dsn: str,
    postgres_gate: Gate,
    keyring_secrets: KeyringSecrets,
    entropy: SeededEntropy,
    telemetry: MemoryTelemetry,
) -> Fleet:
    async def passes(seconds: float) -> None:
        connection = await asyncpg.connect(postgres_dsn)
        await connection.execute(
            "update node_announcement set heard_at = heard_at - make_interval(secs => $1)", seconds
        )
        await connection.close()

    return Fleet(
        PostgresNodeRegistry(database, keyring_secrets, entropy, telemetry),
        PostgresCatalogueStore(database, keyring_secrets, telemetry),
        PostgresConfigStore(database, keyring_secrets, entropy, telemetry),
        PostgresChangeFeed(gated_dsn),
        passes,
        postgres_gate.close,
    )
