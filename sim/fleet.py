"""All machines of a world but the gateways: targets, Redis, the network between them, the clients' way in.

Two levels, one shape: on the wire there is a network with hosts; at the ports the same targets are met without
bytes, and there is no Redis. Not here: what a target answers (`sim/fakes/target.py`).
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Protocol

from sim.actors.caller import Clients
from sim.catalogue import TARGET_PORT
from sim.clients import PortClients, WireClients
from sim.draft import Draft, Level, NodeDraft, VendorDraft
from sim.fakes.clock import HostClock
from sim.fakes.http_target import HttpTarget
from sim.fakes.port_target import PortRoads, PortTargets
from sim.fakes.redis.server import SimRedis
from sim.fakes.target import Target
from sim.faults.carry_out import Roads
from sim.gateway_host import GatewayHost
from sim.hosts import name_of
from sim.journal.journal import Journal
from sim.loop import VirtualLoop
from sim.network.link import Link
from sim.network.network import Network
from sim.seed import Seed
from sim.trace import Trace

REDIS_PORT = 6379

TOKENS_PER_PIECE = 10
"""At the ports framing is not the point: ten tokens come in one piece."""


class ClosableClients(Clients, Protocol):
    """The clients of a world, which close what they kept in the end."""

    def close(self) -> None:
        """Close all connections."""
        ...


class Fleet:
    """The machines. `redis` and `redis_url` are None at the ports; `roads` lead from all gateways to a target."""

    def __init__(self, draft: Draft, seed: Seed, loop: VirtualLoop, journal: Journal, trace: Trace) -> None:
        self._wire = draft.level is Level.WIRE
        self._window_bytes = int(draft.knobs.window_bytes)
        self._slice_bytes = draft.knobs.client_slice_bytes
        self._loop = loop
        self._trace = trace
        self._network = Network(loop, seed.chance("network"), trace, window_bytes=int(draft.knobs.window_bytes))
        loop.network = self._network
        self._hosts: dict[str, str] = {}  # address to name
        self._known: dict[str, None] = {}
        self._gateways: list[str] = []
        self._houses: dict[str, PortTargets] = {}
        self._seed = seed
        numbers = itertools.count(1)
        per_piece = 1 if self._wire else TOKENS_PER_PIECE
        wall = HostClock(loop).wall
        drafts: list[VendorDraft | NodeDraft] = [*draft.vendors, *draft.nodes]
        self.targets = {
            one.name: Target(
                one, seed.chance(one.name), journal, lambda: next(numbers), wall=wall, tokens_per_piece=per_piece
            )
            for one in drafts
        }
        self._port_roads = PortRoads()
        self.roads: Roads = WireRoads(self._network, self._gateways) if self._wire else self._port_roads
        self.redis = SimRedis() if self._wire and draft.redis else None
        self.redis_url = None if self.redis is None else f"redis://redis:{REDIS_PORT}/0"

    async def open_ports(self) -> None:
        """Let every target, and Redis, listen."""
        if not self._wire:
            return
        for name, target in self.targets.items():
            await self._listen(
                name, TARGET_PORT, HttpTarget(target, gateway_of=self._peer, reset=self._network.reset)
            )
        if self.redis is not None:
            await self._listen("redis", REDIS_PORT, self.redis.connection)

    def add_host(self, name: str) -> None:
        """Make a host known to the network, once."""
        if name not in self._known:
            number = len(self._known) + 1
            address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            self._known[name] = None
            self._hosts[address] = name
            self._network.add_host(name, address)
            if name.startswith("client"):
                for gateway in self._gateways:
                    self._network.link(name, gateway).slice_max_bytes = self._slice_bytes

    def add_gateway(self, name: str) -> None:
        """Make the host of a gateway known; the roads lead from it too."""
        self.add_host(name)
        self._gateways.append(name)

    def targets_of(self, gateway: str) -> PortTargets:
        """Give the upstream port of a new process."""
        origins = {("http", name, TARGET_PORT): target for name, target in self.targets.items()}
        house = self._houses[gateway] = PortTargets(gateway, origins, self._port_roads, self._trace)
        return house

    def clients(self, gateways: Sequence[GatewayHost], stall_s: float) -> ClosableClients:
        """Give the clients' way to the gateways."""
        if self._wire:
            return WireClients(gateways, self._network)
        return PortClients(gateways, self._loop, self._seed.child("clients"), stall_s, self._window_bytes)

    def killed(self, incarnation: str) -> None:
        """Take a killed process off the network."""
        self._network.crash(incarnation)
        house = self._houses.pop(name_of(incarnation), None)
        if house is not None:
            house.killed()

    def client_connections(self, gateway: str) -> int:
        """Count the open connections of clients to a gateway."""
        return self._network.accepted_of(gateway)

    def buffered_bytes(self, gateway: str) -> int:
        """Count what a gateway has written and nobody has taken."""
        return self._network.buffered_bytes_of(gateway)

    async def _listen(self, name: str, port: int, factory: Callable[[], asyncio.Protocol]) -> None:
        self.add_host(name)
        await self._loop.start_on(f"{name}#1", self._loop.create_server(factory, name, port), name=f"open {name}")

    def _peer(self, transport: asyncio.BaseTransport) -> str:
        return self._hosts[transport.get_extra_info("peername")[0]]


class WireRoads:
    """The ways from all gateways to one target, over the network."""

    def __init__(self, network: Network, gateways: Sequence[str]) -> None:
        self._network = network
        self._gateways = gateways

    def refuse(self, target: str, *, on: bool) -> None:
        """Refuse connections."""
        self._network.refuse(target, on)

    def reset(self, target: str) -> None:
        """Cut every connection."""
        self._network.reset_all(target)

    def hold(self, target: str, *, on: bool) -> None:
        """Hold everything back, both ways."""
        for gateway in self._gateways:
            self._network.partition(gateway, target, on)

    def partition(self, gateway: str, target: str, *, on: bool) -> None:
        """Let one gateway and one target not reach each other."""
        self._network.partition(gateway, target, on)

    def vanish(self, target: str, *, on: bool) -> None:
        """Let the host be gone without a word."""
        self._network.vanish(target, on)

    def shape(self, target: str, kind: str, amount: float, *, on: bool) -> None:
        """Make the way slow, thin or sliced, both ways."""
        sound = Link()
        for gateway in self._gateways:
            for link in (self._network.link(gateway, target), self._network.link(target, gateway)):
                match kind:
                    case "slow_link":
                        link.latency_s = amount if on else sound.latency_s
                    case "thin_link":
                        link.bytes_per_s = amount if on else sound.bytes_per_s
                    case "sliced":
                        link.slice_max_bytes = int(amount) if on else sound.slice_max_bytes
                    case other:
                        raise AssertionError(other)
