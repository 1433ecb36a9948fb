"""Two hosts, a network and a protocol that notes all it is told."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

from sim.hosts import HOST
from sim.loop import VirtualLoop
from sim.network.listeners import Listener
from sim.network.network import Network
from sim.network.side import Side
from sim.seed import Seed
from sim.trace import Trace

T = TypeVar("T")

A, B = "a#1", "b#1"
PORT = 80


class Recorder(asyncio.Protocol):
    """Notes what it is told, when, and on which host."""

    def __init__(self, *, keeps_half_open: bool = False) -> None:
        self.told: list[str] = []
        self.times: list[float] = []
        self.hosts: list[str] = []
        self.pieces: list[bytes] = []
        self.error: Exception | None = None
        self._keeps_half_open = keeps_half_open
        self.side: Side | None = None

    @property
    def transport(self) -> Side:
        """Give the side, which the test knows to be there."""
        assert self.side is not None
        return self.side

    @property
    def data(self) -> bytes:
        """Give all bytes so far."""
        return b"".join(self.pieces)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.side = cast("Side", transport)
        self._note("made")

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self._note("data")

    def eof_received(self) -> bool:
        self._note("eof")
        return self._keeps_half_open

    def connection_lost(self, exc: Exception | None) -> None:
        self.error = exc
        self._note("lost")

    def pause_writing(self) -> None:
        self._note("pause")

    def resume_writing(self) -> None:
        self._note("resume")

    def _note(self, what: str) -> None:
        self.told.append(what)
        if self.side is not None:
            self.times.append(self.side._loop.time())
        self.hosts.append(HOST.get())


class Lab:
    """Hosts a and b, and a third one, c, for what is none of their business."""

    def __init__(self, seed: int = 1, *, noise: float = 0.0, trace: Trace | None = None) -> None:
        root = Seed(seed)
        self.trace = trace or Trace()
        self.loop = VirtualLoop(root.chance("loop"), self.trace, noise=noise)
        self.network = Network(self.loop, root.chance("network"), self.trace)
        self.loop.network = self.network
        for number, name in enumerate("abc", start=1):
            self.network.add_host(name, f"10.0.0.{number}")

    def run(self, incarnation: str, work: Coroutine[Any, Any, T]) -> T:
        """Run a task on a host to its end."""
        return self.loop.run_until_complete(self.loop.start_on(incarnation, work, name="test"))

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.run("nowhere#0", asyncio.sleep(seconds))

    def listen(self, factory: type[Recorder] = Recorder, *, on: str = B) -> tuple[Listener, list[Recorder]]:
        """Open the port; the list fills with the protocols that connections got."""
        made: list[Recorder] = []

        def make() -> Recorder:
            made.append(factory())
            return made[-1]

        async def open_port() -> Listener:
            return cast("Listener", await self.loop.create_server(make, None, PORT))

        return self.run(on, open_port()), made

    def dial(self, host: str = "b", *, on: str = A, half_open: bool = False) -> Recorder:
        """Connect and give the caller's protocol."""

        async def connect() -> Recorder:
            _, protocol = await self.loop.create_connection(
                lambda: Recorder(keeps_half_open=half_open), host, PORT
            )
            return cast("Recorder", protocol)

        return self.run(on, connect())

    def pair(self, *, half_open: bool = False) -> tuple[Recorder, Recorder]:
        """Connect a to b and give both protocols."""
        _, made = self.listen()
        caller = self.dial(half_open=half_open)
        self.pass_s(0.01)
        return caller, made[0]
