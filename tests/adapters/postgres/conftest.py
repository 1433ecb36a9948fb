"""A catalogue worth storing, the store that writes it, and plain SQL beside it."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.node_registry import PostgresNodeRegistry
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.secret import Secret
from ktms.domain.announcement import AnnouncedModel, Announcement
from ktms.domain.catalogue import Catalogue, EngineKind, NodeSpec, VendorKind, VendorSpec
from ktms.domain.ids import KeyId
from ktms.domain.joined_node import NodePermit
from ktms.ports.entropy import Entropy

VENDOR = VendorSpec(
    "openai",
    VendorKind.OPENAI,
    "https://api.example.com/v1",
    keys=(Secret("canary-vendor-key-one"), Secret("canary-vendor-key-two")),
)
SAID = Announcement(
    "http://10.0.0.7:8790", Secret("canary-node-token"), EngineKind.OLLAMA, 1000, 4, (AnnouncedModel("a", 8192),)
)
NODE = NodeSpec("mac-1", "http://10.0.0.7:8790", (), token=Secret("canary-node-token"))


@pytest.fixture
def actor() -> Actor:
    return Actor("tester", Role.OWNER)


@pytest.fixture
def sealed_catalogue() -> Catalogue:
    """A vendor with two keys and a node with a token."""
    return Catalogue(vendors=(VENDOR,), nodes=(NODE,))


@pytest.fixture
def config_store(
    database: Database, keyring_secrets: KeyringSecrets, entropy: Entropy, telemetry: MemoryTelemetry
) -> PostgresConfigStore:
    return PostgresConfigStore(database, keyring_secrets, entropy, telemetry)


@pytest.fixture
async def sql(postgres_dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection of its own, to look at what was stored and to break it."""
    connection = await asyncpg.connect(postgres_dsn)
    yield connection
    await connection.close()


@pytest.fixture
def registry(
    database: Database, keyring_secrets: KeyringSecrets, entropy: Entropy, telemetry: MemoryTelemetry
) -> PostgresNodeRegistry:
    return PostgresNodeRegistry(database, keyring_secrets, entropy, telemetry)


@pytest.fixture
def catalogue_store(
    database: Database, keyring_secrets: KeyringSecrets, telemetry: MemoryTelemetry
) -> PostgresCatalogueStore:
    return PostgresCatalogueStore(database, keyring_secrets, telemetry)


@pytest.fixture
async def node_key_id(registry: PostgresNodeRegistry, actor: Actor) -> KeyId:
    """The key of the node `mac-1`, which has announced SAID."""
    key, _ = await registry.issue(NodePermit("mac-1", ("a",), "fr"), actor=actor)
    await registry.announce(key.id, SAID)
    return key.id
