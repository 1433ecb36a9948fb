"""A real admin server on a loopback port over the stores in memory, with an admin key of every role."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import grpc
import pytest

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.catalogue_store import MemoryCatalogueStore
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.config_store import MemoryConfigStore
from ktms.adapters.memory.key_admin import MemoryKeyAdmin
from ktms.adapters.memory.ledger import MemoryLedger
from ktms.adapters.memory.node_registry import MemoryNodeRegistry
from ktms.adapters.memory.policy_store import MemoryPolicyStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.entropy import SystemEntropy
from ktms.api.admin_grpc.server import AdminServer, Listen
from ktms.api.admin_grpc.service import AdminPorts
from ktms.domain.access.actor import Role
from ktms.domain.access.client_key import AdminKey
from ktms.domain.access.key_form import KeyKind, make_key, read_key
from ktms.domain.capacity.fleet_status import FleetStatus

if TYPE_CHECKING:  # the stub of asynchronous channels exists for type checkers alone
    from ktms.api.admin_grpc.gen.admin_pb2_grpc import AdminServiceAsyncStub

Stub: TypeAlias = "AdminServiceAsyncStub"

LOOPBACK = Listen("127.0.0.1", 0)

Metadata = tuple[tuple[str, str], ...]


@dataclass
class Stage:
    """The stores, the server over them, and the keys."""

    store: MemoryStore
    telemetry: MemoryTelemetry
    tokens: dict[Role, str]
    listen: Listen = LOOPBACK
    fleet: FleetStatus = field(default_factory=lambda: FleetStatus(known=False))
    clock: ManualClock = field(default_factory=ManualClock)
    book: MemoryLedger = field(default_factory=MemoryLedger)
    shelf: MemoryShelf = field(init=False)
    server: AdminServer = field(init=False)

    def __post_init__(self) -> None:
        entropy = SystemEntropy()
        self.shelf = MemoryShelf(self.clock, self.store)
        self.server = AdminServer(
            self.listen,
            AdminPorts(
                config=MemoryConfigStore(self.store, entropy),
                keys=MemoryKeyAdmin(self.store, entropy),
                versions=MemoryCatalogueStore(self.store),
                nodes=MemoryNodeRegistry(self.store, entropy, self.clock),
                policies=MemoryPolicyStore(self.store),
                fleet=lambda: self.fleet,
                batches=MemoryBatchStore(self.shelf),
                reports=self.book,
            ),
            telemetry=self.telemetry,
            server_version="1.2.3",
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def bearer(self, role: Role) -> Metadata:
        return (("authorization", f"Bearer {self.tokens[role]}"),)


Stages = Callable[..., AbstractAsyncContextManager[Stage]]


@asynccontextmanager
async def started(listen: Listen = LOOPBACK) -> AsyncIterator[Stage]:
    """Run a server with its own stores."""
    store, tokens = MemoryStore(), {}
    for role in Role:
        tokens[role] = make_key(KeyKind.ADMIN, SystemEntropy().token_bytes)
        text = read_key(tokens[role])
        assert text is not None
        store.admin_keys.append(AdminKey(text.id, text.digest, f"the-{role.value}", role.value))
    stage = Stage(store, MemoryTelemetry(), tokens, listen)
    await stage.server.start()
    try:
        yield stage
    finally:
        await stage.server.stop(0)


Told = tuple[grpc.StatusCode, str]


@asynccontextmanager
async def refusal() -> AsyncIterator[list[Told]]:
    """Expect a call to be refused; gives its status and details afterwards."""
    seen: list[Told] = []
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        yield seen
    seen.append((refused.value.code(), refused.value.details() or ""))


async def ask(channel: grpc.aio.Channel, method: str, data: bytes, metadata: Sequence[tuple[str, str]]) -> Told:
    """Call a method with raw bytes; gives status and details."""
    asked: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
    call = asked(data, metadata=tuple(metadata), timeout=10)
    return await call.code(), await call.details() or ""
