"""Carrying a fault out: what begins and what ends, for every kind of the plan.

Each fault is noted when it begins and when it ends, with the ids of the failure matrix that it stands for where no
single answer suffers it (a target notes its own). Not here: when faults are healed for good (world).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from sim.faults.plan import KINDS, Fault, On, pair_of
from sim.journal.journal import Journal

HOST = "world"

REDIS = "redis"
"""The host of Redis, where there are bytes."""


class Answering(Protocol):
    """A target, as far as its answers can be broken."""

    def fault(self, kind: str, amount: float, *, on: bool) -> None:
        """Begin or end a fault of its answers."""
        ...


class Roads(Protocol):
    """The ways between the gateways and one target, at either level of a world."""

    def refuse(self, target: str, *, on: bool) -> None:
        """Refuse connections."""
        ...

    def move(self, target: str) -> None:
        """Give it another address."""
        ...

    def reset(self, target: str) -> None:
        """Cut every connection."""
        ...

    def hold(self, target: str, *, on: bool) -> None:
        """Hold everything back."""
        ...

    def partition(self, gateway: str, target: str, *, on: bool) -> None:
        """Let one gateway and the target not reach each other."""
        ...

    def vanish(self, target: str, *, on: bool) -> None:
        """Let the host be gone without a word; when it ends a new host is there."""
        ...

    def shape(self, target: str, kind: str, amount: float, *, on: bool) -> None:
        """Make the way slow, thin or sliced."""
        ...


class Storage(Protocol):
    """A database or Redis, as far as it can be broken."""

    def mode(self, kind: str, amount: float = 0.0, *, on: bool) -> None:
        """Begin or end a fault."""
        ...


class Replica(Protocol):
    """A gateway's machine."""

    def crash(self) -> None:
        """Kill the process."""
        ...

    def signal(self, again_s: float | None = None) -> None:
        """Send SIGTERM, and to the same process another one so much later."""
        ...

    def ensure_up(self) -> None:
        """Start a new process unless one runs; one that is leaving is followed by a new one."""
        ...

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock."""
        ...

    def freeze(self, seconds: float) -> None:
        """Let the process stand still."""
        ...

    def lack_files(self, *, on: bool) -> None:
        """Let the process have no new descriptor."""
        ...


@dataclass(frozen=True, slots=True)
class Breakable:
    """All that can be broken in a world. `operator` does what people do, by the kind of fault."""

    targets: Mapping[str, Answering]
    roads: Roads
    postgres: Storage
    redis: Storage | None
    ledger: Storage
    gateways: Mapping[str, Replica]
    operator: Callable[[str], None]


class Injector:
    """Begins and ends the faults of a plan."""

    def __init__(self, things: Breakable, journal: Journal) -> None:
        self._things = things
        self._journal = journal
        self._on: list[Fault] = []  # a plan may hold the same fault twice

    async def carry_out(self, fault: Fault, starts_at: float) -> None:
        """Wait for the moment of a fault, begin it, and end it when its time is over."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(starts_at + fault.at_s - loop.time())
        self.begin(fault)
        if not KINDS[fault.kind].instant:
            await asyncio.sleep(fault.lasts_s)
            self.end(fault)

    def begin(self, fault: Fault) -> None:
        """Begin a fault."""
        kind = KINDS[fault.kind]
        self._note(fault, on=True)
        if self._is_here(fault):
            for name in kind.ids:
                self._journal.note("fault_active", HOST, id=name, target=fault.aimed_at)
        if not kind.instant:
            self._on.append(fault)
        self._apply(fault, on=True)

    def _is_here(self, fault: Fault) -> bool:
        """Whether there is what the fault is aimed at: a shrunk world has fewer things to break."""
        match KINDS[fault.kind].on:
            case On.TARGET | On.NODE:
                return fault.target in self._things.targets
            case On.GATEWAY:
                redis = fault.kind != "redis_cut" or self._things.redis is not None
                return fault.target in self._things.gateways and redis
            case On.PAIR:
                gateway, target = pair_of(fault.target)
                return gateway in self._things.gateways and target in self._things.targets
            case On.REDIS:
                return self._things.redis is not None
            case On.POSTGRES | On.OPERATOR | On.LEDGER:
                return True

    def end(self, fault: Fault) -> None:
        """End a fault; harmless when it is over."""
        if fault in self._on:
            self._on.remove(fault)
            self._note(fault, on=False)
            self._apply(fault, on=False)

    def heal(self) -> None:
        """End all that are on, and bring every gateway up."""
        for fault in tuple(self._on):
            self.end(fault)
        for gateway in self._things.gateways.values():
            gateway.ensure_up()

    def _note(self, fault: Fault, *, on: bool) -> None:
        between = {"gateway": pair_of(fault.target)[0]} if KINDS[fault.kind].on is On.PAIR else {}
        self._journal.note(
            "fault", HOST, fault=fault.kind, target=fault.aimed_at, on=on, amount=fault.amount, **between
        )

    def _apply(self, fault: Fault, *, on: bool) -> None:
        things = self._things
        match KINDS[fault.kind].on:
            case On.TARGET | On.NODE if fault.target in things.targets:
                self._to_target(fault, on=on)
            case On.GATEWAY if self._is_here(fault):
                self._to_gateway(fault, things.gateways[fault.target], on=on)
            case On.PAIR if self._is_here(fault):
                things.roads.partition(*pair_of(fault.target), on=on)
            case On.POSTGRES:
                things.postgres.mode(fault.kind, fault.amount, on=on)
            case On.REDIS if things.redis is not None:
                things.redis.mode(fault.kind, fault.amount, on=on)
            case On.LEDGER:
                things.ledger.mode(fault.kind, fault.amount, on=on)
            case On.OPERATOR:
                things.operator(fault.kind)
            case _:
                pass  # a shrunk world has fewer things to break

    def _to_target(self, fault: Fault, *, on: bool) -> None:
        roads, name = self._things.roads, fault.target
        match fault.kind:
            case "refuse":
                roads.refuse(name, on=on)
            case "moved":
                roads.move(name)
            case "reset":
                roads.reset(name)
            case "black_hole":
                roads.hold(name, on=on)
            case "half_open" | "power_off":
                roads.vanish(name, on=on)
                self._things.targets[name].fault(fault.kind, fault.amount, on=on)
            case "slow_link" | "thin_link" | "sliced":
                roads.shape(name, fault.kind, fault.amount, on=on)
            case kind:
                self._things.targets[name].fault(kind, fault.amount, on=on)

    def _to_gateway(self, fault: Fault, gateway: Replica, *, on: bool) -> None:
        if fault.kind == "redis_cut":
            self._things.roads.partition(fault.target, REDIS, on=on)
            return
        if fault.kind == "no_descriptors":
            gateway.lack_files(on=on)
            return
        if not on:
            gateway.ensure_up()
            return
        match fault.kind:
            case "crash":
                gateway.crash()
            case "sigterm":
                gateway.signal()
            case "sigterm_twice":
                gateway.signal(again_s=fault.amount)
            case "wall_jump":
                gateway.jump_wall(fault.amount)
            case kind:
                assert kind == "lag", kind
                gateway.freeze(fault.amount)
