"""The upstream leg as the engine sees it: `HttpUpstream` implements the port `Upstream`.

A request takes an idle connection of its lane, or waits for the right to open one, then runs as an `Exchange`.
Every await has an instant at which it ends; cancelling any of them closes the connection or gives the slot back.
"""

import asyncio

from ktms.adapters.upstream_http.address_rules import ReachGuard
from ktms.adapters.upstream_http.connection import Connection
from ktms.adapters.upstream_http.dialler import Dialler, LoopNetwork, Network
from ktms.adapters.upstream_http.exchange import Exchange, StaleConnection
from ktms.adapters.upstream_http.pool import Pool
from ktms.adapters.upstream_http.request_heads import LaneKey, RequestHeads
from ktms.adapters.upstream_http.settings import UpstreamSettings
from ktms.domain.routing.outcome import FailureKind
from ktms.domain.snapshot import Origin
from ktms.ports.upstream import UpstreamAnswer, UpstreamRequest


class HttpUpstream:
    """HTTP/1.1 to vendors and nodes, over pooled connections of the running loop."""

    __slots__ = ("_dialler", "_heads", "_pool")

    def __init__(
        self, settings: UpstreamSettings, reach_guard: ReachGuard, *, network: Network | None = None
    ) -> None:
        self._heads = RequestHeads()
        self._pool = Pool(settings)
        self._dialler = Dialler(network or LoopNetwork(), reach_guard, settings.ssl_context)

    @property
    def open_connections(self) -> int:
        """Connections that exist or are being dialled."""
        return self._pool.open_total

    @property
    def idle_connections(self) -> int:
        """Connections that wait for a request."""
        return self._pool.idle_total

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Send the request and wait for the response head; see `Upstream`.

        Raises:
            UpstreamFailed: the head did not come; nothing of the answer has been seen.
            ValueError: a header or the path cannot stand in a head; the caller's mistake.
        """
        lane, head = self._heads.head(request)
        timers = request.timers
        total_at = asyncio.get_running_loop().time() + timers.total_s
        connection = self._pool.take_idle(lane)
        if connection is None:
            connection = await self._connect(lane, request, total_at, fresh=False)
        exchange = Exchange(connection, timers, total_at, self._pool.park)
        try:
            await exchange.begin(head, request.body)
        except StaleConnection:
            # Whether it was read is not known; a peer that closed an idle connection did not read it (RFC 9110,
            # 9.2.2).
            connection = await self._connect(lane, request, total_at, fresh=True)
            exchange = Exchange(connection, timers, total_at, self._pool.park)
            await exchange.begin(head, request.body)
        return exchange

    async def close(self) -> None:
        """Close all connections; whoever uses one or waits for one fails with CLOSED."""
        await self._pool.close()

    async def _connect(
        self, lane: LaneKey, request: UpstreamRequest, total_at: float, *, fresh: bool
    ) -> Connection:
        loop = asyncio.get_running_loop()
        at, late = _first(loop.time() + request.timers.pool_s, FailureKind.POOL_TIMEOUT, total_at)
        granted = await self._pool.acquire(lane, at=at, late=late, fresh=fresh)
        if isinstance(granted, Connection):
            return granted
        at, late = _first(loop.time() + request.timers.connect_s, FailureKind.CONNECT_TIMEOUT, total_at)
        try:
            connection = await self._dial(request.origin, loop, at, late)
        except BaseException:
            self._pool.give_back(granted)
            raise
        self._pool.adopt(granted, connection)
        return connection

    async def _dial(
        self, origin: Origin, loop: asyncio.AbstractEventLoop, at: float, late: FailureKind
    ) -> Connection:
        return await self._dialler.dial(origin, lambda: Connection(loop, self._pool.lost), at=at, late=late)


def _first(phase_at: float, phase: FailureKind, total_at: float) -> tuple[float, FailureKind]:
    return (phase_at, phase) if phase_at < total_at else (total_at, FailureKind.TOTAL_TIMEOUT)
