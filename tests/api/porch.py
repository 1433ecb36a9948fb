"""A listener with routes that tell what reached them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import uvloop

from ktms.adapters.memory.telemetry import MemoryTelemetry
from ktms.adapters.system.clock import SystemClock
from ktms.api.body import BodyLimits, read_body, refuse_encoding
from ktms.api.inbound import Inbound
from ktms.api.listener import Listener, ListenerSettings
from ktms.api.openai.headers import HeaderReader
from ktms.api.routes import refusal
from ktms.api.wire import Dates, Reply, whole
from ktms.domain.errors import CallFailed

FLOOD_BYTES = 16 * 1024 * 1024
"""More than the system's buffers of a connection hold."""


@dataclass
class Porch:
    """`seen` are the requests that reached a handler, as `METHOD target body`."""

    settings: ListenerSettings
    limits: BodyLimits
    dates: Dates = field(default_factory=lambda: Dates(SystemClock()))
    telemetry: MemoryTelemetry = field(default_factory=MemoryTelemetry)
    seen: list[str] = field(default_factory=list)
    cancelled: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    flooded: asyncio.Transport | None = None

    def __post_init__(self) -> None:
        echo = {"GET": self._echo, "POST": self._echo}
        routes = {
            "/echo": echo,
            "/tail/": {"GET": self._echo},
            "/broken": {"GET": self._break},
            "/hold": {"GET": self._held},
            "/flood": {"GET": self._flood},
        }
        self.listener = Listener(routes, self.dates, self.settings, self.telemetry)

    async def _echo(self, request: Inbound) -> Reply:
        try:
            headers = HeaderReader().read(request.raw_headers)
            refuse_encoding(headers.encoding)
            body = await read_body(request, self.limits, expects=headers.expects)
        except CallFailed as failure:
            return refusal(request, self.dates, failure.problem, keeps=False)
        words = (request.method, request.raw_path, body.decode("latin-1"))
        self.seen.append(" ".join(word for word in words if word))
        return whole(request, self.dates, 200, self.seen[-1].encode("latin-1"), content_type="text/plain")

    async def _break(self, request: Inbound) -> Reply:
        raise ValueError(f"secret of {request.raw_path}")

    async def _flood(self, request: Inbound) -> Reply:
        self.seen.append("flood")
        self.flooded = request.transport
        return whole(request, self.dates, 200, bytes(FLOOD_BYTES), content_type="text/plain")

    async def _held(self, request: Inbound) -> Reply:
        self.seen.append("held")
        try:
            await self.hold.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return whole(request, self.dates, 200, b"{}")

    async def until(self, count: int) -> None:
        """Wait until so many requests have reached a handler."""
        async with asyncio.timeout(10):
            while len(self.seen) < count:  # noqa: ASYNC110 - the handler knows nothing of this test
                await asyncio.sleep(0)


@asynccontextmanager
async def porch_of(
    settings: ListenerSettings | None = None, limits: BodyLimits | None = None
) -> AsyncIterator[Porch]:
    # With and without the fast lane the rules are the same: each loop has one of the two.
    lane = isinstance(asyncio.get_running_loop(), uvloop.Loop)
    porch = Porch(replace(settings or ListenerSettings(), fast_lane=lane), limits or BodyLimits())
    porch.port = await porch.listener.start("127.0.0.1", 0)
    try:
        yield porch
    finally:
        porch.hold.set()
        await porch.listener.stop()
