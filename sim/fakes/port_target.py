"""Targets behind a gateway's upstream port (level PORTS): what they do becomes steps of the memory adapter.

`PortRoads` is the network of such a world: which target is reached, held back or gone, for all gateways at once.
The shape of a way beyond its latency (thin, sliced) needs bytes, so it does nothing here.
Not here: what is answered (`target.py`), how an exchange is timed (`ktms/adapters/memory/upstream.py`).
"""

import asyncio
import itertools
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from ktms.adapters.memory import upstream as memory
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import OriginKey
from ktms.ports.upstream import UpstreamRequest
from sim.fakes.steps import Cut, Head, How, Pause, Piece, Raw, Silence, Steps
from sim.fakes.target import Target
from sim.trace import Trace

_UNENCODED = ("", "identity")


@dataclass(slots=True)
class _Way:
    """The way to one target. `lives` counts the machines that have stood there under its name."""

    refused: bool = False
    held: bool = False
    gone: bool = False
    lives: int = 0
    latency_s: float = 0.0
    free: asyncio.Event = field(default_factory=asyncio.Event)


class PortRoads:
    """The ways to all targets of a world, by name; those never named are free."""

    def __init__(self) -> None:
        self._ways: dict[str, _Way] = {}
        self._houses: list[PortTargets] = []

    def way(self, target: str) -> _Way:
        """Give the way to a target."""
        return self._ways.setdefault(target, _Way())

    def join(self, house: "PortTargets") -> None:
        """Let a gateway's exchanges take part in resets."""
        self._houses.append(house)

    def part(self, house: "PortTargets") -> None:
        """Forget a gateway that is no more."""
        self._houses.remove(house)

    def refuse(self, target: str, *, on: bool) -> None:
        """Refuse connections; those that are open go on."""
        self.way(target).refused = on

    def move(self, target: str) -> None:
        """Cut every connection; here a machine is its name."""
        self.reset(target)

    def reset(self, target: str) -> None:
        """Cut every connection."""
        for house in self._houses:
            house.cut(target)

    def hold(self, target: str, *, on: bool) -> None:
        """Hold everything back; it comes when this ends."""
        way = self.way(target)
        way.held = on
        if on:
            way.free.clear()
        else:
            way.free.set()

    def partition(self, gateway: str, target: str, *, on: bool) -> None:
        """Do nothing: here one way leads from all gateways to a target."""

    def vanish(self, target: str, *, on: bool) -> None:
        """Let the machine be gone without a word; when it ends a new one is there, and knows no connection."""
        way = self.way(target)
        way.gone = on
        way.lives += on

    def shape(self, target: str, kind: str, amount: float, *, on: bool) -> None:
        """Make the way slow; other shapes need bytes."""
        if kind == "slow_link":
            self.way(target).latency_s = amount if on else 0.0


class PortTargets:
    """One gateway's upstream port, with all targets behind it, each at its origin; elsewhere nobody listens."""

    def __init__(self, gateway: str, targets: Mapping[OriginKey, Target], roads: PortRoads, trace: Trace) -> None:
        self._trace = trace
        self._exchanges = itertools.count(1)
        self.upstream = memory.MemoryUpstream(self.script_for, keeps_ended=False)
        self._gateway = gateway
        self._targets = targets
        self._origins = {target.name: origin for origin, target in targets.items()}
        self._roads = roads
        roads.join(self)

    def cut(self, target: str) -> None:
        """Break every exchange with a target, by RST."""
        origin = self._origins.get(target)
        if origin is not None:
            self.upstream.cut(origin)

    def killed(self) -> None:
        """End with the gateway's process: its targets see every connection lost."""
        for origin in self._targets:
            self.upstream.cut(origin)
        self._roads.part(self)

    def script_for(self, request: UpstreamRequest) -> memory.Script:
        """Say what happens to a request."""
        target = self._targets.get(request.origin.key)
        if target is None:
            return memory.NOBODY
        return self._taken(target, request, self._roads.way(target.name))

    def _taken(self, target: Target, request: UpstreamRequest, way: _Way) -> Generator[memory.Step, None, None]:
        """Reach the target, ask it, and hand its answer on."""
        if way.refused:
            yield memory.Fail(FailureKind.REFUSED)
        elif way.held or way.gone:
            # A connection attempt is repeated: it gets through if the way is free again by its end.
            yield memory.Pause(request.timers.connect_s)
            if way.held or way.gone:
                yield memory.Fail(FailureKind.CONNECT_TIMEOUT)
        life = way.lives
        if way.latency_s:
            yield memory.Pause(2 * way.latency_s)
        prologue, number = request.prologue, next(self._exchanges)
        now = asyncio.get_running_loop().time
        steps = target.respond(
            prologue.method,
            prologue.path,
            prologue.headers + request.extra_headers,
            request.body,
            self._gateway,
        )
        try:
            for step in carried(steps):
                while way.held and way.lives == life:
                    yield memory.Wait(way.free)
                if way.lives != life:
                    yield memory.Silence()
                if type(step) is bytes:
                    self._trace.delivered(now(), number, self._gateway, step)
                yield step
        finally:
            steps.close()


def carried(steps: Steps) -> Generator[memory.Step, None, None]:
    """Turn what a target does into what its caller meets."""
    ends_with_connection = False
    for step in steps:
        if type(step) is Piece:
            yield step.data
        elif type(step) is Pause:
            yield memory.Pause(step.seconds)
        elif type(step) is Head:
            ends_with_connection = step.length is not None and step.length < 0
            coding = next((value for name, value in step.headers if name.lower() == "content-encoding"), "")
            if coding.lower() not in _UNENCODED:
                yield memory.Fail(FailureKind.ENCODED)
            yield memory.Head(step.status, (("Content-Type", step.content_type), *step.headers))
        elif type(step) is Raw:
            yield memory.Fail(FailureKind.MALFORMED)
        elif type(step) is Silence:
            yield memory.Silence()
        elif type(step) is Cut:
            if not (ends_with_connection and step.how is How.FIN):
                yield memory.Fail(FailureKind.CLOSED)
            return
