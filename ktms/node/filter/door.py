"""The filter: a port with two routes before one engine.

Order: the head's form, the token, whether the node drains, the body, the engine. Who has no token learns nothing
of the node; who drains lets running answers finish. Each answer after the token says the node's state.
Not here: when it opens, drains and closes (`agent.py`), what the engine is like (`engines/`).
"""

import asyncio
import ssl
from collections.abc import Callable

from aiohttp import web

from ktms.domain.errors import ErrorCode
from ktms.node.filter.body import EngineBody, engine_body
from ktms.node.filter.body_room import BodyRoom, Share
from ktms.node.filter.bounds import Bounds
from ktms.node.filter.connection import Server
from ktms.node.filter.inbound_body import read_body
from ktms.node.filter.listing import listing, state_header
from ktms.node.filter.own_models import engine_name
from ktms.node.filter.refused import Refused, refused
from ktms.node.filter.relay import Relay
from ktms.node.filter.target import Head, Route, route_of
from ktms.node.filter.token import TokenCheck
from ktms.node.filter.way_back import Dates, WayBack
from ktms.node.settings import NodeSettings
from ktms.node.state import NodeState

FORCED_CLOSE_S = 0.25
"""Grace for cancelled handlers when the filter is shut for good."""

BACKLOG = 512
"""Connections that the kernel holds for us while a large body is read."""

HANDSHAKE_S = 10.0
"""For a TLS handshake over a slow way."""

Served = Callable[[Route | None, int], None]
"""Told after each answer: its route (None: none) and status, and nothing of what was asked."""

_NO_TOKEN = refused(
    ErrorCode.INVALID_API_KEY,
    "Show the token of this node.",
    ends=True,
    headers=(("WWW-Authenticate", "Bearer"),),
)
_DRAINING = refused(ErrorCode.DRAINING, "This node is shutting down.", ends=True, headers=(("Retry-After", "1"),))


class Filter:
    """The door of one node. `now` gives seconds since 1970; with `tls` the port speaks it."""

    def __init__(
        self,
        settings: NodeSettings,
        state: NodeState,
        *,
        now: Callable[[], float],
        tls: ssl.SSLContext | None = None,
        bounds: Bounds | None = None,
        served: Served | None = None,
    ) -> None:
        self._settings = settings
        self._state = state
        self._tls = tls
        self._bounds = bounds or Bounds()
        self._room = BodyRoom(self._bounds.bodies_max_bytes)
        self._served = served
        self._dates = Dates(now)
        self._token = TokenCheck(settings.node_token)
        self._relay = Relay(settings.engine_url, self._bounds)
        self._server: Server | None = None
        self._listening: asyncio.Server | None = None
        self.port = 0

    async def start(self) -> None:
        """Open the port; `port` says which one it is where any was asked for.

        Raises:
            OSError: the address is taken or not ours.
        """
        await self._relay.start()
        self._server = Server(self._answer, self._dates, self._bounds)
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                self._server,
                self._settings.listen_host,
                self._settings.listen_port,
                ssl=self._tls,
                backlog=BACKLOG,
                ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_S,
            )
        except OSError:
            await self._relay.stop()
            raise
        self.port = int(self._listening.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Close the port and all connections; answers that still run are cut."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(FORCED_CLOSE_S)
            self._server = None
        await self._relay.stop()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        way = WayBack(request, self._dates, self._bounds)
        head = Head(
            request.method.encode("latin-1", "replace"),
            request.raw_path.encode("utf-8", "surrogateescape"),
            (request.version.major, request.version.minor),
            request.raw_headers,
        )
        route = route_of(head)
        try:
            if isinstance(route, Refused):
                way.refuse(route)
            elif not self._token.passes(head.headers):
                way.refuse(_NO_TOKEN)
            else:
                way.headers = (state_header(self._state),)
                await self._serve(route, request, way)
                await way.taken()
        finally:
            if self._served is not None and way.begun:
                self._served(None if isinstance(route, Refused) else route, way.status)
        return way.told()

    async def _serve(self, route: Route, request: web.BaseRequest, way: WayBack) -> None:
        if route is Route.MODELS:
            told = listing(self._settings, self._state)
            if isinstance(told, Refused):
                way.refuse(told)
            else:
                way.whole(200, told)
        elif self._state.draining:
            way.refuse(_DRAINING)
        else:
            await self._chat(request, way)

    async def _chat(self, request: web.BaseRequest, way: WayBack) -> None:
        self._state.begin()
        try:
            with self._room.share() as share:
                body = await self._body(request, share)
                if isinstance(body, Refused):
                    way.refuse(body)
                else:
                    await self._relay.chat(body, way)
        finally:
            self._state.end()

    async def _body(self, request: web.BaseRequest, share: Share) -> EngineBody | Refused:
        raw = await read_body(request, self._bounds, share)
        return raw if isinstance(raw, Refused) else engine_body(raw, self._engine_name, self._settings.engine)

    def _engine_name(self, asked: str) -> str | None:
        return engine_name(asked, self._state.engine, self._settings.models)
