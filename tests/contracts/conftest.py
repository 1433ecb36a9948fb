"""The stores of one gateway, in memory, in a simulated world and on a real Postgres: suites run on all three.

`cut_feeds` loses the connections of feeds; `take_away` makes all stores unreachable.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.change_feed import MemoryChangeFeed
from ktms.adapters.memory.clock import LoopClock
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.key_store import MemoryKeyStore
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.postgres.catalogue_store import PostgresCatalogueStore
from ktms.adapters.postgres.change_feed import PostgresChangeFeed
from ktms.adapters.postgres.config_store import PostgresConfigStore
from ktms.adapters.postgres.encryption_state import settle_keyring
from ktms.adapters.postgres.key_admin import PostgresKeyAdmin
from ktms.adapters.postgres.key_store import PostgresKeyStore
from ktms.adapters.postgres.pool import Database, open_database
from ktms.domain.access.actor import Actor, Role
from ktms.domain.access.limits import Limits
from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import (
    Catalogue,
    ChainSpec,
    ClientKeySpec,
    DollarLimitMode,
    EngineKind,
    ModelSpec,
    NodeModelSpec,
    NodeSpec,
    PolicySpec,
    PriceSpec,
    Selection,
    TargetSpec,
    TenantSpec,
    TimeoutSpec,
    VendorKind,
    VendorSpec,
)
from ktms.domain.placement import Placement
from ktms.ports.catalogue import CatalogueStore
from ktms.ports.change_feed import ChangeFeed
from ktms.ports.config_store import ConfigStore
from ktms.ports.entropy import Entropy
from ktms.ports.key_admin import KeyAdmin
from ktms.ports.key_store import KeyStore
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.postgres.view import PostgresView
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace
from tests.contracts.books_stage import (
    Books,
    books_in_a_world,
    books_in_memory,
    books_on_postgres,
    books_over_grpc,
)
from tests.contracts.fleet_stage import Make, memory_stages, redis_stages, sim_stages
from tests.contracts.shelf_stage import Shelf, shelf_in_a_world, shelf_in_memory, shelf_on_postgres

VENDORS = (
    VendorSpec(
        "openai",
        VendorKind.OPENAI,
        "https://api.example.com/v1",
        region="us",
        keys=(Secret("sk-first-vendor-key"), Secret("sk-second-vendor-key")),
        timeouts=TimeoutSpec(connect_s=1.5, total_s=60),
        headers={"X-Team": "a"},
    ),
    VendorSpec("azure", VendorKind.AZURE_OPENAI, "https://azure.example.com", keys=(Secret("azure-key-1"),)),
)
MODELS = (
    ModelSpec(
        "small",
        (TargetSpec("local", "qwen3:4b"), TargetSpec("openai", "gpt-4o-mini", 2)),
        aliases=("default",),
        context_window=32768,
        placement=Placement.NODES_FIRST,
        selection=Selection.ROUND_ROBIN,
        allowed_regions=("us", "fr"),
        timeouts=TimeoutSpec(idle_s=5),
    ),
    ModelSpec("large", (TargetSpec("azure", "gpt-4o"),)),
)
CHAINS = (ChainSpec("auto", {"high": ("large", "small"), "low": ("small",)}, "low"),)
NODES = (
    NodeSpec(
        "mac-1",
        "http://10.0.0.7:8790",
        (NodeModelSpec("qwen3:4b", 8192),),
        token=Secret("node-token-number-1"),
        region="fr",
        slots=4,
    ),
    NodeSpec("box-1", "http://10.0.0.8:8000", (NodeModelSpec("qwen3:4b"),), engine=EngineKind.VLLM),
)
PRICES = (
    PriceSpec("openai", "gpt-4o-mini", Decimal("0.15"), Decimal("0.075"), None, Decimal("0.60")),
    PriceSpec("openai", "gpt-4o-mini", Decimal("0.1"), valid_from=1_785_542_400),
    PriceSpec("local", "qwen3:4b", Decimal("0.012345")),
    PriceSpec("openai", "gpt-4o-mini", Decimal("0.05"), valid_from=1_801_353_601),
)
TENANTS = (TenantSpec("team-a", Limits(usd_per_month_micros=500_000_000), DollarLimitMode.CLOSED),)
CLIENT_KEYS = (
    ClientKeySpec(
        "app-1",
        "team-a",
        models=("small", "auto"),
        placements=(Placement.NODES_FIRST, Placement.NODES_ONLY),
        allowed_regions=("fr",),
        placement=Placement.NODES_ONLY,
        placement_lock=True,
        tier="low",
        interactive=True,
        limits=Limits(600, 200_000, 50, 20_000_000, None),
        cache_ttl_s=60,
        expires_at=2_000_000_000.123,
    ),
)
POLICY = PolicySpec(allowed_regions=("us", "fr"), band=float("inf"), attempts_max=3)

Act = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Stores:
    catalogue: CatalogueStore
    config: ConfigStore
    keys: KeyStore
    admin: KeyAdmin
    feed: ChangeFeed
    cut_feeds: Act
    take_away: Act


class Gate(Protocol):
    async def close(self) -> None: ...


@pytest.fixture(params=["memory", "sim", pytest.param("postgres", marks=pytest.mark.service)])
def stores(request: pytest.FixtureRequest) -> Stores:
    made: Stores = request.getfixturevalue(f"{request.param}_stores")
    return made


@pytest.fixture(params=["memory", "sim", pytest.param("valkey", marks=pytest.mark.service)])
def fleet(request: pytest.FixtureRequest) -> Make:
    """Stores that the replicas of one fleet share."""
    make: Make = request.getfixturevalue(f"{request.param}_fleet")
    return make


@pytest.fixture
async def memory_fleet() -> AsyncIterator[Make]:
    async with memory_stages() as make:
        yield make


@pytest.fixture
async def sim_fleet() -> AsyncIterator[Make]:
    async with sim_stages() as make:
        yield make


@pytest.fixture
async def valkey_fleet(valkey_url: str) -> AsyncIterator[Make]:
    async with redis_stages(valkey_url) as make:
        yield make


@pytest.fixture(
    params=["memory", "sim", *(pytest.param(name, marks=pytest.mark.service) for name in ("postgres", "grpc"))]
)
def books(request: pytest.FixtureRequest) -> Books:
    """Ledgers of every kind."""
    made: Books = request.getfixturevalue(f"{request.param}_books")
    return made


@pytest.fixture(params=["memory", "sim", pytest.param("postgres", marks=pytest.mark.service)])
def shelf(request: pytest.FixtureRequest) -> Shelf:
    """Stores of files and batches of every kind."""
    made: Shelf = request.getfixturevalue(f"{request.param}_shelf")
    return made


@pytest.fixture
def memory_shelf() -> Shelf:
    return shelf_in_memory()


@pytest.fixture
def sim_shelf() -> Shelf:
    return shelf_in_a_world()


@pytest.fixture
def postgres_shelf(
    gated_database: Database, postgres_dsn: str, postgres_gate: Gate, keyring_secrets: KeyringSecrets
) -> Shelf:
    return shelf_on_postgres(gated_database, postgres_dsn, postgres_gate.close, keyring_secrets)


@pytest.fixture
async def memory_books() -> AsyncIterator[Books]:
    async with books_in_memory() as made:
        yield made


@pytest.fixture
async def sim_books() -> AsyncIterator[Books]:
    async with books_in_a_world() as made:
        yield made


@pytest.fixture
async def postgres_books(gated_dsn: str, postgres_dsn: str, postgres_gate: Gate) -> AsyncIterator[Books]:
    async with books_on_postgres(gated_dsn, postgres_dsn, postgres_gate.close) as made:
        yield made


@pytest.fixture
async def grpc_books(postgres_dsn: str) -> AsyncIterator[Books]:
    async with books_over_grpc(postgres_dsn) as made:
        yield made


@pytest.fixture
def config(stores: Stores) -> ConfigStore:
    return stores.config


@pytest.fixture
def catalogue(stores: Stores) -> CatalogueStore:
    return stores.catalogue


@pytest.fixture
def keys(stores: Stores) -> KeyStore:
    return stores.keys


@pytest.fixture
def admin(stores: Stores) -> KeyAdmin:
    return stores.admin


@pytest.fixture
def feed(stores: Stores) -> ChangeFeed:
    return stores.feed


@pytest.fixture
def cut_feeds(stores: Stores) -> Act:
    return stores.cut_feeds


@pytest.fixture
def take_away(stores: Stores) -> Act:
    return stores.take_away


@pytest.fixture
def actor() -> Actor:
    return Actor("tester", Role.OWNER)


@pytest.fixture
def everything() -> Catalogue:
    """A catalogue that uses every kind of entry and every kind of field."""
    return Catalogue(
        vendors=VENDORS,
        models=MODELS,
        chains=CHAINS,
        nodes=NODES,
        prices=PRICES,
        tenants=TENANTS,
        client_keys=CLIENT_KEYS,
        policy=POLICY,
    )


@pytest.fixture
def memory_stores(entropy: Entropy) -> Stores:
    return in_memory(entropy)


def in_memory(entropy: Entropy) -> Stores:
    store = MemoryStore()

    async def cut_feeds() -> None:
        store.cut_feeds()

    async def take_away() -> None:
        store.away = True

    return Stores(
        MemoryCatalogueStore(store),
        MemoryConfigStore(store, entropy),
        MemoryKeyStore(store),
        MemoryKeyAdmin(store, entropy),
        MemoryChangeFeed(store),
        cut_feeds,
        take_away,
    )


@pytest.fixture
def sim_stores(entropy: Entropy) -> Stores:
    """One replica's view of a world's database; what operators do goes past its faults, so it ends apart."""
    server = SimPostgres(Seed(1), Trace())
    view = PostgresView(server, "gw1", Journal(lambda: 0.0), SeededEntropy("gw1"), LoopClock())

    async def cut_feeds() -> None:
        server.lose_feeds()

    async def take_away() -> None:
        server.mode("postgres_away", on=True)
        server.store.away = True

    return Stores(
        view.catalogue,
        MemoryConfigStore(server.store, entropy),
        view.keys,
        MemoryKeyAdmin(server.store, entropy),
        view.changes,
        cut_feeds,
        take_away,
    )


@pytest.fixture
async def gated_database(gated_dsn: str, keyring_secrets: KeyringSecrets) -> AsyncIterator[Database]:
    """An open pool behind the gate, on a database which has adopted the keyring."""
    async with open_database(gated_dsn) as opened:
        await settle_keyring(opened, keyring_secrets)
        yield opened


@pytest.fixture
def postgres_stores(
    gated_database: Database,
    gated_dsn: str,
    postgres_dsn: str,
    postgres_gate: Gate,
    keyring_secrets: KeyringSecrets,
    entropy: Entropy,
    telemetry: MemoryTelemetry,
) -> Stores:
    database = gated_database

    async def cut_feeds() -> None:
        connection = await asyncpg.connect(postgres_dsn)
        await connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ktms-feed'"
        )
        await connection.close()

    return Stores(
        PostgresCatalogueStore(database, keyring_secrets, telemetry),
        PostgresConfigStore(database, keyring_secrets, entropy, telemetry),
        PostgresKeyStore(database),
        PostgresKeyAdmin(database, entropy),
        PostgresChangeFeed(gated_dsn),
        cut_feeds,
        postgres_gate.close,
    )
