"""The machines of clients: connections to the gateways, kept and used again as client libraries do.

Not here: what a client does with an answer (`sim/actors/caller.py`).
"""

import asyncio
import itertools
from collections.abc import Sequence

from ktms.api.routes import Handler, Routes
from sim.actors.answer import Answer
from sim.actors.line import Line, WireLine
from sim.actors.request import Request
from sim.draft import CallDraft
from sim.fakes.inbound import PortConnection, PortInbound, serve
from sim.gateway_host import PORT, GatewayHost
from sim.hosts import HOST, name_of
from sim.loop import VirtualLoop
from sim.network.network import Network
from sim.seed import Chance, Seed

REUSE_MAX_S = 30.0
"""Client libraries drop a kept connection long before a gateway does."""


class WireClients:
    """Connections over the simulated network; a call's host is that of its task."""

    def __init__(self, gateways: Sequence[GatewayHost], network: Network) -> None:
        self._gateways = gateways
        self._network = network
        self._kept: dict[tuple[str, str], list[tuple[float, WireLine]]] = {}
        self._lines: dict[WireLine, None] = {}

    def gateway_of(self, call: CallDraft) -> str:
        """Give the host name of the gateway of a call."""
        return self._gateways[call.gateway % len(self._gateways)].name

    async def open(self, call: CallDraft, *, fresh: bool) -> tuple[Line, bool]:
        """Give a connection, kept or new.

        Raises:
            OSError: nobody listens there.
        """
        to, loop = self.gateway_of(call), asyncio.get_running_loop()
        kept = self._kept.get(self._place(to), [])
        while kept and not fresh:
            since, line = kept.pop()
            if line.usable and loop.time() - since < REUSE_MAX_S:
                return line, True
            line.leave("fin")
        here = name_of(HOST.get())
        _, line = await loop.create_connection(
            lambda: WireLine(self._network.reset, lambda: self._network.vanish(here)), to, PORT
        )
        self._lines[line] = None
        return line, False

    def give_back(self, call: CallDraft, line: Line) -> None:
        """Keep a connection for the next call from this host."""
        if isinstance(line, WireLine) and line.usable:
            kept = self._kept.setdefault(self._place(self.gateway_of(call)), [])
            kept.append((asyncio.get_running_loop().time(), line))

    def close(self) -> None:
        """Close all connections."""
        for line in self._lines:
            line.leave("fin")

    def _place(self, to: str) -> tuple[str, str]:
        return (name_of(HOST.get()), to)


class _PortLine:
    """One request handed to a door, without a connection; the client leaving cancels its task."""

    def __init__(
        self, gateway: GatewayHost, loop: VirtualLoop, chance: Chance, stall_s: float, window_bytes: int
    ) -> None:
        self._gateway = gateway
        self._loop = loop
        self._stall_s = stall_s
        self._connection = PortConnection(self, chance, window_bytes)
        self._task: asyncio.Task[None] | None = None
        self._answer: Answer | None = None

    def ask(self, request: Request, answer: Answer) -> None:
        """See `Line`."""
        self._answer = answer
        routes = self._gateway.routes
        handler = None if routes is None else _handler(routes, request)
        if handler is None:
            answer.connection_lost()
            return
        inbound = PortInbound(request.method, request.path, request.headers, request.body, self._connection)
        self._gateway.joined(self)
        self._task = self._loop.start_on(
            self._gateway.incarnation, self._serve(handler, inbound), name=f"serve {request.path}"
        )

    async def _serve(self, handler: Handler, inbound: PortInbound) -> None:
        try:
            await serve(handler, inbound, self._stall_s)
        finally:
            self._gateway.parted(self)

    def received(self, data: bytes) -> None:
        """Take bytes of the answer."""
        assert self._answer is not None, "it was asked"
        self._answer.feed(data)

    def lost(self) -> None:
        """End with the gateway's end."""
        if self._answer is not None:
            self._answer.connection_lost()
        if self._task is not None:
            self._task.cancel()

    def stop_reading(self) -> None:
        """See `Line`."""
        self._connection.stop_reading()

    def read_on(self) -> None:
        """See `Line`."""
        self._connection.read_on()

    def leave(self, how: str) -> None:
        """See `Line`; one that vanishes is noticed by nobody, and reads no more."""
        if how == "vanish":
            self._connection.stop_reading()
            return
        self._connection.leave()
        if self._task is not None:
            self._task.cancel()


def _handler(routes: Routes, request: Request) -> Handler:
    """Find the door of a request, as the port does."""
    path = request.path.partition("?")[0]
    tail = next((route for route in routes if route.endswith("/") and path.startswith(route)), path)
    return routes.get(path, routes[tail])[request.method]


class PortClients:
    """Clients of a world without connections: each request is a task of the gateway."""

    def __init__(
        self, gateways: Sequence[GatewayHost], loop: VirtualLoop, seed: Seed, stall_s: float, window_bytes: int
    ) -> None:
        self._window_bytes = window_bytes
        self._gateways = gateways
        self._loop = loop
        self._seed = seed
        self._stall_s = stall_s
        self._opened = itertools.count(1)

    def gateway_of(self, call: CallDraft) -> str:
        """Give the host name of the gateway of a call."""
        return self._gateways[call.gateway % len(self._gateways)].name

    async def open(self, call: CallDraft, *, fresh: bool) -> tuple[Line, bool]:
        """Give a way to a door.

        Raises:
            ConnectionRefusedError: no process listens there.
        """
        del fresh
        gateway = self._gateways[call.gateway % len(self._gateways)]
        if gateway.routes is None:
            raise ConnectionRefusedError
        chance = self._seed.chance(next(self._opened))
        return _PortLine(gateway, self._loop, chance, self._stall_s, self._window_bytes), False

    def give_back(self, call: CallDraft, line: Line) -> None:
        """Keep nothing: there is no connection."""

    def close(self) -> None:
        """Close nothing."""
