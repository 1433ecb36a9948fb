"""The world of one end-to-end case: vendors, clients, a gateway, on any ground.

A case takes a `World` and nothing else. `real.py` puts it on real sockets; a simulated ground puts the same case
on virtual time.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ktms.adapters.memory.store import MemoryStore
from ktms.domain.catalogue import Catalogue
from tests.world.client import RawClient
from tests.world.clock import ShiftedClock
from tests.world.ground import Ground, Listening
from tests.world.recorders import RecordingSpool, RecordingTelemetry
from tests.world.vendor import MockVendor


@dataclass(frozen=True, slots=True)
class GatewayUnderTest:
    """A running gateway and what its ports remembered. `busy` gives the leases held on a node, by its name."""

    host: str
    port: int
    ledger: RecordingSpool
    telemetry: RecordingTelemetry
    busy: Callable[[str], int]
    stop: Callable[[], Awaitable[None]]
    drain: Callable[[], Awaitable[None]]
    store: MemoryStore
    clock: ShiftedClock


StartGateway = Callable[[Ground, Catalogue, Mapping[str, object]], Awaitable[GatewayUnderTest]]


class World:
    """Makes the actors of a case and takes them all down again."""

    def __init__(self, ground: Ground, start_gateway: StartGateway) -> None:
        self.ground = ground
        self._start_gateway = start_gateway
        self._vendors: list[MockVendor] = []
        self._clients: list[RawClient] = []
        self._gateways: list[GatewayUnderTest] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def now(self) -> float:
        """Give the loop's time, in seconds."""
        return self.ground.now()

    async def vendor(self, name: str = "vendor") -> MockVendor:
        """Make a vendor that listens."""
        vendor = MockVendor(name, self.ground)
        await vendor.start()
        self._vendors.append(vendor)
        return vendor

    async def client(self, to: "GatewayUnderTest | Listening") -> RawClient:
        """Make a client that is connected."""
        client = await self.ground.connect(to.host, to.port, lambda: RawClient(self.ground))
        self._clients.append(client)
        return client

    async def gateway(self, catalogue: Catalogue, **settings: object) -> GatewayUnderTest:
        """Start a gateway on this catalogue."""
        gateway = await self._start_gateway(self.ground, catalogue, settings)
        self._gateways.append(gateway)
        return gateway

    async def stop(self) -> None:
        """Take everything down, clients first; twice is harmless."""
        while self._clients:
            client = self._clients.pop()
            client.leave()
            await client.closed()
        while self._gateways:
            await self._gateways.pop().stop()
        while self._vendors:
            await self._vendors.pop().stop()
