"""The HTTP port: aiohttp's low-level server, hardened, with an exact routing table, behind a fast lane.

A connection begins in the fast lane (`fast_lane.py`), which serves whole, simple requests to the model routes and
hands the connection over to aiohttp at the first request of any other kind.

Rules: a route is matched on the raw bytes of the target (no normalising, no Host, absolute form refused); request
bodies are not decompressed; a client that leaves cancels its handler; heads have a deadline; no Server header.
Not here: what a route does (the doors) and when the port opens or closes (app/lifecycle.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import HttpProcessingError, HttpVersion10, HttpVersion11, RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from ktms.api.crowd import Crowd
from ktms.api.fast_lane import FastLane, Lanes, hot_routes
from ktms.api.port import Listen, Port, listening_socket, open_port
from ktms.api.request_head import HEADERS_MAX, LENGTH_DIGITS_MAX
from ktms.api.routes import Routes, refusal
from ktms.api.way_back import taken
from ktms.api.wire import Dates, Reply, is_http10
from ktms.domain.errors import ErrorCode, Problem, problem
from ktms.domain.fault import fault_of
from ktms.ports.telemetry import Telemetry

QUIET_POLL_S = 0.02
"""How often a port that closes looks whether its last clients have taken their answers; they tell nobody."""

CALLS = "/v1/"
"""Where the routes of clients lie; those beside it are for probes, and answer in any crowd."""

FORCED_CLOSE_S = 0.25
"""Grace for cancelled handlers to write their last event when the server is shut for good."""


@dataclass(frozen=True, slots=True)
class ListenerSettings:
    """Seconds."""

    head_s: float = 10.0  # to send a complete request head
    idle_s: float = 75.0  # a kept connection without a request
    stall_s: float = 60.0  # a client that takes no byte of its answer
    backlog: int = 1024  # connections the kernel may hold for us
    connections_max: int = 4096  # of clients; half of what a usual limit of 8,192 open files leaves
    listen: Listen = listening_socket  # a simulated world has no kernel to ask
    fast_lane: bool = True  # False: aiohttp serves every request


class _Connection(RequestHandler):
    """aiohttp's connection with a deadline for heads and errors in our shape."""

    def __init__(self, server: "_Server", *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=server.settings.idle_s,
            access_log=None,  # type: ignore[arg-type]  # None switches it off, as AppRunner documents
            auto_decompress=False,
            max_headers=HEADERS_MAX,
            tcp_keepalive=True,
        )
        self._server = server
        self._head_timer: asyncio.TimerHandle | None = None
        self._cut_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        crowd = self._server.crowd
        full = crowd.full
        crowd.open += 1
        crowd.busy += 1
        if full:
            transport.close()
            return
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        if self._close and self._request_in_progress:
            self._read_rest(data)
            return
        try:
            super().data_received(data)
        except ValueError:  # the parser in Python lets out what `int` says of a length with thousands of digits
            self.force_close()
            return
        if self._messages:
            self._end_broken_body()
        if self._messages or self._request_in_progress:
            self._stop_watch()
        elif data and self._head_timer is None and self._waiter is not None and not self._waiter.done():
            self._watch_head()  # half a head; between a head and its handler nobody waits for one

    def close(self) -> None:
        """Take no other request; a connection that waits for one ends at once, or it would wait unheard."""
        waits = self._waiter is not None and not self._waiter.done()
        fresh = self._request_count == 0
        super().close()
        if (waits or fresh) and self.transport is not None:
            self.transport.close()

    async def start(self) -> None:
        await super().start()
        self._cut_in_time(self.transport)

    def force_close(self) -> None:
        self._cut_in_time(self.transport)
        super().force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_watch()
        if self._cut_timer is not None:
            self._cut_timer.cancel()
        self._server.crowd.open -= 1
        self._server.crowd.busy -= 1
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        del message  # it may quote what the client sent, and so may the error's
        if status >= 500:
            self._server.telemetry.event("error", "internal_error", **fault_of(exc))
        code = ErrorCode.INVALID_REQUEST if status < 500 else ErrorCode.INTERNAL_ERROR
        text = "The request is not valid HTTP." if status < 500 else "An internal error; it has been logged."
        cause = refusal(request, self._server.dates, problem(code, text), keeps=False)
        return _Response(cause, self._server.settings.stall_s)

    def _read_rest(self, data: bytes) -> None:
        """Read the body of the request under way, which the port's closing must not cut; take no other."""
        assert self._parser is not None
        try:
            self._parser.feed_data(data)
        except (HttpProcessingError, ValueError):  # as above
            self.force_close()

    def _end_broken_body(self) -> None:
        """Let go who waits for a body that will never end: nothing is parsed after it but that it is broken.

        The parser in C tells nobody; its request would wait for the deadline of its body.
        """
        request = self._current_request
        if request is not None and not request.content.is_eof():
            request.content.set_exception(web.RequestPayloadError("the body's framing is broken"))
            request.content.feed_eof()

    def _cut_in_time(self, transport: asyncio.Transport | None) -> None:
        """Cut off a client in the end that does not take what is left for it on a connection that closes."""
        if self._cut_timer is None and transport is not None and transport.get_write_buffer_size():
            self._cut_timer = self._loop.call_later(self._server.settings.stall_s, transport.abort)

    def _watch_head(self) -> None:
        self._head_timer = self._loop.call_later(self._server.settings.head_s, self._head_is_late)

    def _stop_watch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._messages and not self._request_in_progress:
            self.force_close()


class _Response(web.StreamResponse):
    """A reply as aiohttp takes it: its bytes go to the transport in one write, or have gone there already."""

    def __init__(self, reply: Reply, stall_s: float) -> None:
        super().__init__(status=reply.status)
        self._reply = reply
        self._stall_s = stall_s

    @property
    def keep_alive(self) -> bool:
        """Whether the connection serves another request."""
        return self._reply.keeps

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send what was not sent yet."""
        reply, transport = self._reply, request.transport
        if reply.body is not None and transport is not None:
            transport.write(reply.head + reply.body)
            reply.body = None
        await taken(request, self._stall_s)
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing: the body ends where its framing says."""
        assert not data, "the body is in the reply"


class _Server(web.Server):
    """aiohttp's server, making our connections."""

    def __init__(
        self,
        handler: "_AioHandler",
        settings: ListenerSettings,
        dates: Dates,
        telemetry: Telemetry,
        crowd: Crowd,
    ) -> None:
        super().__init__(handler, handler_cancellation=True, request_factory=self._request)
        self.settings = settings
        self.dates = dates
        self.telemetry = telemetry
        self.crowd = crowd
        self.leaving = False

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        if self.leaving:
            message = message._replace(should_close=True)
        return self._make_request(message, payload, protocol, writer, task)

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=asyncio.get_running_loop())


class Listener:
    """One HTTP port and its routes."""

    def __init__(self, routes: Routes, dates: Dates, settings: ListenerSettings, telemetry: Telemetry) -> None:
        self._routes = routes
        self._tails = tuple(target for target in routes if target.endswith("/"))
        self._dates = dates
        self._settings = settings
        self._telemetry = telemetry
        self._crowd = Crowd(settings.connections_max)
        self._lanes = Lanes(
            hot=hot_routes(routes),
            dates=dates,
            telemetry=telemetry,
            crowd=self._crowd,
            head_s=settings.head_s,
            idle_s=settings.idle_s,
            stall_s=settings.stall_s,
        )
        self._server: _Server | None = None
        self._port: Port | None = None

    async def start(self, host: str, port: int, *, reuse_port: bool = False) -> int:
        """Open the port and give its number; 0 asks for any free one.

        Raises:
            OSError: the address is taken or not ours.
        """
        self._server = _Server(self._dispatch, self._settings, self._dates, self._telemetry, self._crowd)
        self._port = await open_port(
            self._connection,
            host,
            port,
            listen=self._settings.listen,
            backlog=self._settings.backlog,
            reuse_port=reuse_port,
        )
        return self._port.number

    def _connection(self) -> asyncio.Protocol:
        assert self._server is not None
        return FastLane(self._lanes, self._server) if self._settings.fast_lane else self._server()

    def leave(self) -> None:
        """Ask each client with its next answer to take another connection, which a balancer leads elsewhere."""
        self._lanes.leaving = True
        if self._server is not None:
            self._server.leaving = True

    def close(self) -> None:
        """Accept no more connections; those that are open go on."""
        if self._port is not None:
            self._port.close()
        self._lanes.close()
        if self._server is not None:
            self._server.pre_shutdown()

    async def quiet(self) -> None:
        """Wait, after `close`, until all connections have ended: an answer is over when its client has it."""
        while self._lanes.open or (self._server is not None and self._server.connections):  # noqa: ASYNC110 - QUIET_POLL_S
            await asyncio.sleep(QUIET_POLL_S)

    async def stop(self) -> None:
        """Close the port and all connections; calls still running are cancelled."""
        self.close()
        await self._lanes.stop(FORCED_CLOSE_S)
        if self._server is not None:
            await self._server.shutdown(FORCED_CLOSE_S)
            self._server = None
        if self._port is not None:
            await self._port.wait_closed()
            self._port = None

    async def _dispatch(self, request: web.BaseRequest) -> web.StreamResponse:
        return _Response(await self._reply(request), self._settings.stall_s)

    async def _reply(self, request: web.BaseRequest) -> Reply:
        if not _is_plain(request):
            return refusal(request, self._dates, _NOT_PLAIN, keeps=False)
        target = request.raw_path
        path = target.partition("?")[0]
        methods = self._routes.get(path)
        if methods is None:
            methods = next((self._routes[tail] for tail in self._tails if path.startswith(tail)), None)
        if methods is None:
            keeps = None if target.startswith("/") else False  # a proxy's request: what follows is none of ours
            return refusal(request, self._dates, _unknown(target), keeps=keeps)
        if self._crowd.refuses_calls and path.startswith(CALLS):
            return self._lanes.refuse_call(request)
        handler = methods.get(request.method)
        if handler is None:
            allowed = ", ".join(sorted(methods))
            wrong = problem(ErrorCode.METHOD_NOT_ALLOWED, f"This route takes {allowed}.")
            return refusal(request, self._dates, wrong, headers=(("Allow", allowed),))
        return await handler(request)


_AioHandler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def _is_plain(request: web.BaseRequest) -> bool:
    """Whether it is HTTP as we take it: another parser on the way may see another end of anything else."""
    if not HttpVersion10 <= request.version <= HttpVersion11:
        return False
    if len(request.headers.get("Content-Length", "")) > LENGTH_DIGITS_MAX:
        return False
    coding = request.headers.get("Transfer-Encoding")
    return coding is None or (coding.lower() == "chunked" and not is_http10(request))


_NOT_PLAIN = problem(ErrorCode.INVALID_REQUEST, "Only HTTP/1.1 and 1.0 are spoken; of codings, chunked in 1.1.")


def _unknown(target: str) -> Problem:
    if not target.startswith("/"):
        return problem(ErrorCode.INVALID_REQUEST, "Send the path alone as the request target.")
    return problem(ErrorCode.NOT_FOUND, "There is no such route; the API lies under /v1.")
