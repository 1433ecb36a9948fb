"""One machine with a gateway on it: starts the production assembly, is signalled, killed, frozen, started again.

The process is what `ktms serve` runs: `assemble`, then `run_until_stopped` with the same background works; only
the ports differ (`sim/fakes`). A new process is a new incarnation of the host with a memory of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

from ktms.adapters.redis.connect import RedisProbe
from ktms.adapters.redis.link import RedisLink
from ktms.api.routes import Routes
from ktms.app.assemble import assemble
from ktms.app.beside import tell_fitness, watch_redis
from ktms.app.gateway import Gateway, GatewaySettings, Ports
from ktms.app.running import Stops, run_until_stopped
from sim.fakes.clock import HostClock
from sim.journal.journal import Journal
from sim.loop import VirtualLoop

PORT = 8080

REDIS_TIMEOUT_S = 0.1
"""The default of KTMS_REDIS_TIMEOUT_MS."""


def report(task: "asyncio.Task[None]") -> None:
    """Hand the error of a task that nobody waits for to the loop, which fails the world."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        task.get_loop().call_exception_handler({"message": f"{task.get_name()} failed", "exception": error})


@dataclass(frozen=True, slots=True)
class Made:
    """The ports of one process, and how to count what it holds.

    `link` leads to Redis while the process runs, and so does `wide`, for answers.
    """

    ports: Ports
    upstream_open: Callable[[], int]
    upstream_idle: Callable[[], int]
    leases: Callable[[], int]
    link: RedisLink | None
    wide: RedisLink | None
    inflight: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a host stands in. `make_ports` is called for each process; `killed` tells the network of a dead one.

    `exhaust` takes the descriptors of a process away, `relieve` gives those of a host back.
    """

    loop: VirtualLoop
    journal: Journal
    clock: HostClock
    settings: GatewaySettings
    make_ports: Callable[[str, HostClock], Made]
    killed: Callable[[str], None]
    connections: Callable[[str], int]
    buffered_bytes: Callable[[str], int]
    redis_url: str | None
    exhaust: Callable[[str], None]
    relieve: Callable[[str], None]


class Guest(Protocol):
    """Who waits for an answer without a connection."""

    def lost(self) -> None:
        """Learn that the process is dead."""
        ...


class _Process:
    """One incarnation."""

    def __init__(self, incarnation: str, made: Made, gateway: Gateway) -> None:
        self.incarnation = incarnation
        self.made = made
        self.gateway = gateway
        self.stops = Stops()
        self.listening = False
        self.over = False
        self.succeeded = False  # another one is to start when this one has gone
        self.signals = 0


class GatewayHost:
    """A replica's machine. `name` is its host name; there is at most one process that is not leaving."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self._around = around
        self._count = 0
        self._process: _Process | None = None
        self._changed = asyncio.Event()
        self._guests: dict[Guest, None] = {}

    @property
    def routes(self) -> Routes | None:
        """The doors of the process that listens; None while there is none."""
        process = self._process
        return process.gateway.routes if process is not None and process.listening else None

    @property
    def incarnation(self) -> str:
        """The running process, as the loop knows it."""
        return "" if self._process is None else self._process.incarnation

    @property
    def up(self) -> bool:
        """Whether a process runs that was not told to leave."""
        return self._process is not None and not self._process.over and self._process.signals == 0

    def ensure_up(self) -> None:
        """Start a process unless one runs; one that is leaving is followed by another when it has gone."""
        if self._process is not None and not self._process.over:
            self._process.succeeded = self._process.signals > 0
            return
        around = self._around
        self._count += 1
        incarnation = f"{self.name}#{self._count}"
        made = around.make_ports(self.name, around.clock)
        process = self._process = _Process(incarnation, made, assemble(made.ports, None, around.settings))
        task = around.loop.start_on(incarnation, self._run(process), name=f"serve {incarnation}")
        task.add_done_callback(report)

    async def listens(self) -> None:
        """Wait until a process listens that was not told to leave."""
        while not (self.up and self.routes is not None):
            self._changed.clear()
            await self._changed.wait()

    async def gone(self) -> None:
        """Wait until no process runs."""
        while self._process is not None and not self._process.over:
            self._changed.clear()
            await self._changed.wait()

    def left_over(self) -> None:
        """Note what is left of a process that has gone: nothing should be."""
        around = self._around
        tasks, connections = around.loop.tasks_of(self.incarnation), around.connections(self.name)
        around.journal.note("left_over", self.name, tasks=tasks, connections=connections)

    def joined(self, guest: "Guest") -> None:
        """Let somebody who was handed to a door without a connection hear of a crash."""
        self._guests[guest] = None

    def parted(self, guest: "Guest") -> None:
        """Forget a guest."""
        self._guests.pop(guest, None)

    def crash(self) -> None:
        """Kill the process: nothing of it runs again, no `finally` either."""
        process = self._process
        if process is not None and not process.over:
            process.over, process.listening = True, False
            self._around.loop.crash(process.incarnation)
            self._around.killed(process.incarnation)
            self._note("host_crashed")
            guests, self._guests = self._guests, {}
            for guest in guests:
                guest.lost()

    def signal(self, again_s: float | None = None) -> None:
        """Send SIGTERM, and to the same process another one so much later."""
        process = self._process
        if process is not None:
            self._signal(process)
            if again_s is not None:
                self._around.loop.call_later(again_s, self._signal, process)

    def _signal(self, process: "_Process") -> None:
        if not process.over:
            process.signals += 1
            if process.signals == 1:
                self._note("drain_begun")
            process.stops.asked()

    def freeze(self, seconds: float) -> None:
        """Let the process stand still for so long."""
        if self._process is not None:
            until = self._around.loop.time() + seconds
            self._around.loop.freeze(self._process.incarnation, until)

    def lack_files(self, *, on: bool) -> None:
        """Let the process that runs have no new descriptor."""
        if on:
            self._around.exhaust(self.incarnation)
        else:
            self._around.relieve(self.name)

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock of this host forward or back."""
        self._around.clock.jump_wall(seconds)

    def sample(self) -> None:
        """Note how much the process holds."""
        if self.up:
            self._around.journal.note("sample", self.name, **self._held())

    def at_rest(self) -> dict[str, float]:
        """Give what the process still holds when all should be quiet."""
        process = self._process
        assert process is not None, "the world was healed before"
        return {
            **self._held(),
            "upstream_idle": process.made.upstream_idle(),
            "leases": process.made.leases(),
            "ready": process.gateway.readiness().ready,
        }

    def _held(self) -> dict[str, int]:
        process, around = self._process, self._around
        assert process is not None
        return {
            "tasks": around.loop.tasks_of(process.incarnation),
            "connections": around.connections(self.name),
            "upstream_open": process.made.upstream_open(),
            "buffered_bytes": around.buffered_bytes(self.name),
            "inflight": process.made.inflight(),
        }

    async def _run(self, process: _Process) -> None:
        around, gateway = self._around, process.gateway
        telemetry, link = process.made.ports.telemetry, process.made.link
        works: list[Callable[[], Awaitable[None]]] = [gateway.run]
        probe: RedisProbe | None = None
        if around.redis_url is not None:
            probe = RedisProbe(around.redis_url, REDIS_TIMEOUT_S)
            works.append(watch_redis(probe, telemetry, lambda: link is not None and link.silenced))
        try:
            async with link or nullcontext(), process.made.wide or nullcontext():
                if link is not None:
                    await tell_fitness(link, telemetry)
                await gateway.start(self.name, PORT)
                process.listening = True
                self._changed.set()
                self._note("host_up")
                await run_until_stopped(gateway, process.stops, works)
        finally:
            if probe is not None:
                await probe.close()
        process.over, process.listening = True, False
        self._changed.set()
        self._note("drain_over")
        self._note("host_stopped", clean=process.signals < 2)
        if process.succeeded:
            self._around.loop.call_soon(self.ensure_up)

    def _note(self, kind: str, **members: str | float | bool | None) -> None:
        self._around.journal.note(kind, self.name, **members)
