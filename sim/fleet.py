"""All machines of a world but the gateways: targets, Redis, the network between them, the clients' way in.

Two levels, one shape: on the wire there is a network with hosts; at the ports the same targets are met without
bytes, and there is no Redis. Not here: what a target answers (`sim/fakes/target.py`).
"""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from ktms.adapters.memory.fleet_store import MemoryFleetStore
from ktms.adapters.redis.keys import EPOCH, account_key, leases_of, waiters_of
from ktms.adapters.redis.quota_words import unpack_counters
from ktms.domain.access.quota_counters import NEW, roll
from ktms.domain.ids import ModelName, NodeName
from ktms.domain.snapshot import OriginKey
from sim.actors.caller import Clients
from sim.catalogue import TARGET_PORT
from sim.clients import PortClients, WireClients
from sim.draft import Draft, Level, NodeDraft, VendorDraft
from sim.fakes.clock import HostClock
from sim.fakes.http_target import HttpTarget
from sim.fakes.port_target import PortRoads, PortTargets
from sim.fakes.redis.keyspace import Keyspace
from sim.fakes.redis.quota_twins import wall_us
from sim.fakes.redis.refusals import OTHER_PORT
from sim.fakes.redis.server import SimRedis
from sim.fakes.shared_store import SharedStore
from sim.fakes.target import Target
from sim.faults.carry_out import Roads, Storage
from sim.gateway_host import GatewayHost
from sim.hosts import name_of
from sim.journal.journal import Journal
from sim.loop import VirtualLoop
from sim.network.link import Link
from sim.network.network import Network
from sim.seed import Seed
from sim.store_looks import Counted
from sim.trace import Trace

REDIS, REDIS_PORT = "redis", 6379

TOKENS_PER_PIECE = 10
"""At the ports framing is not the point: ten tokens come in one piece."""


class ClosableClients(Clients, Protocol):
    """The clients of a world, which close what they kept in the end."""

    def close(self) -> None:
        """Close all connections."""
        ...


class Fleet:
    """The machines. `roads` lead from all gateways to a target.

    What replicas share is `redis` on the wire, at `redis_url`, and `store` at the ports; a world may have none.
    """

    def __init__(self, draft: Draft, seed: Seed, loop: VirtualLoop, journal: Journal, trace: Trace) -> None:
        self._wire = draft.level is Level.WIRE
        self._window_bytes = int(draft.knobs.window_bytes)
        self._slice_bytes = draft.knobs.client_slice_bytes
        self._loop = loop
        self._trace = trace
        self._network = Network(loop, seed.chance("network"), trace, window_bytes=int(draft.knobs.window_bytes))
        self._network.lacked = lambda host, what: journal.note("descriptor_lacked", host, what=what)
        self.exhaust, self.relieve = self._network.exhaust, self._network.relieve
        loop.network = self._network
        self._hosts: dict[str, str] = {}  # address to name
        self._known: dict[str, None] = {}
        self._gateways: list[str] = []
        self._nodes = [node.name for node in draft.nodes]
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
        if self.redis is not None:
            self.redis.met = lambda transport, how: note_met(journal, self._peer(transport), how)
        if self.redis is not None and draft.epoch_open:
            self.redis.state.data.put(EPOCH.encode(), b"0")
        at_ports = draft.redis and not self._wire
        self.store = SharedStore(MemoryFleetStore(opened=draft.epoch_open)) if at_ports else None
        self.redis_url = None if self.redis is None else f"redis://{REDIS}:{REDIS_PORT}/0"

    async def open_ports(self) -> None:
        """Let every target, and Redis, listen."""
        if not self._wire:
            return
        for name, target in self.targets.items():
            await self._listen(
                name, TARGET_PORT, HttpTarget(target, gateway_of=self._peer, reset=self._network.reset)
            )
        if self.redis is not None:
            await self._listen(REDIS, REDIS_PORT, self.redis.connection)
            await self._listen(REDIS, OTHER_PORT, partial(self.redis.connection, at_other_port=True))

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

    def address_of(self, target: str) -> str:
        """Give the address that a machine has now."""
        return self._network.resolve(target, TARGET_PORT)[0][0]

    def targets_of(self, gateway: str) -> PortTargets:
        """Give the upstream port of a new process."""
        origins: dict[OriginKey, Target] = {
            ("http", name, TARGET_PORT, None): target for name, target in self.targets.items()
        }
        house = self._houses[gateway] = PortTargets(gateway, origins, self._port_roads, self._trace)
        return house

    @property
    def storage(self) -> Storage | None:
        """What the replicas share, as far as it can be broken."""
        if self.redis is None:
            return self.store
        return WireRedis(self.redis, self._network, self._gateways, REDIS)

    def slots_in_use(self) -> dict[str, int]:
        """Give what the store of leases itself counts on each node; empty where each replica has its own."""
        nodes = [NodeName(name) for name in self._nodes]
        if self.redis is not None:
            data = self.redis.state.data
            return {name: data.sets.count(leases_of(name).encode(), above=data.now_ms()) for name in nodes}
        return {} if self.store is None else {name: self.store.store.busy(name) for name in nodes}

    def waiting(self, model: str) -> int:
        """Give how many wait for a slot, as the store counts them."""
        name = ModelName(model)
        if self.redis is not None:
            data = self.redis.state.data
            return data.sets.count(waiters_of(name).encode(), above=data.now_ms())
        return 0 if self.store is None else self.store.store.read((), (name,)).waiting[name]

    def counted(self, account: str) -> Counted | None:
        """Give what the store counts of an account today; None where replicas share no store."""
        if self.redis is not None:
            data = self.redis.state.data
            packed = data.get(account_key(account).encode())
            counters = roll(NEW if packed is None else unpack_counters(packed), wall_us(data))
        elif self.store is not None:
            counters = self.store.quotas.counters(account)
        else:
            return None
        return Counted(counters.running, counters.day_settled, counters.day_reserved)

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


def note_met(journal: Journal, gateway: str, how: str) -> None:
    """Note that a gateway turned to a Redis that cannot help it."""
    journal.note("redis_met", REDIS, gateway=gateway, how=how)


class WireRoads:
    """The ways from all gateways to one target, over the network."""

    def __init__(self, network: Network, gateways: Sequence[str]) -> None:
        self._network = network
        self._gateways = gateways

    def refuse(self, target: str, *, on: bool) -> None:
        """Refuse connections."""
        self._network.refuse(target, on)

    def move(self, target: str) -> None:
        """Give it another address."""
        self._network.move(target)

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


class WireRedis:
    """Redis on its host, and the ways from it to all gateways: some of its faults are the network's."""

    def __init__(self, server: SimRedis, network: Network, gateways: Sequence[str], host: str) -> None:
        self._server = server
        self._network = network
        self._gateways = gateways
        self._host = host
        self._slow: list[float] = []
        self._replicas: list[Keyspace] = []

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault."""
        match kind:
            case "redis_empty":
                self._server.restart_empty()
            case "redis_garbled":
                self._server.state.data.put(EPOCH.encode(), b"soon")
            case "redis_forgets_scripts":
                self._server.state.scripts.flush()
            case "redis_failover" if on:
                self._replicas.append(self._server.state.data.copy())
            case "redis_failover":
                self._server.take_over(self._replicas.pop())
            case "redis_slow":
                (self._slow.append if on else self._slow.remove)(amount)
                for gateway in self._gateways:
                    self._network.link(self._host, gateway).latency_s = max(self._slow, default=Link().latency_s)
            case _:
                self._server.mode(kind, amount, on=on)
