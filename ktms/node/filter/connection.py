"""Connections of the filter: aiohttp's, hardened. Heads have a deadline, errors our shape and end the connection.

Rules: the two parsers of aiohttp take the same heads (the one in Python would take methods in small letters);
nothing is decompressed; a client that leaves cancels its handler; no Server header.
Not here: what is answered (`door.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod
from aiohttp.http_parser import HttpRequestParserPy, RawRequestMessage
from aiohttp.web_protocol import RequestHandler

from ktms.domain.errors import ErrorCode
from ktms.node.filter.bounds import KIB, Bounds
from ktms.node.filter.refused import refused
from ktms.node.filter.target import HEADERS_MAX
from ktms.node.filter.way_back import Dates, Told, WayBack

LINE_MAX_BYTES = 1 * KIB
"""The longest target that is served is 20 bytes; some for a query that is dropped."""

FIELD_MAX_BYTES = 4 * KIB
"""A token has 512 bytes at most; edges of tunnels add trace contexts."""

LINGER_S = 1.0
"""How long what is left of a refused body is read, so that its sender sees the answer and not a reset."""


class ExactParser(HttpRequestParserPy):
    """aiohttp's parser in Python, as exact about methods as the one in C."""

    def parse_message(self, lines: list[bytes]) -> RawRequestMessage:
        """Read a head.

        Raises:
            BadHttpMethod: the method is not in capital letters.
        """
        method = lines[0].partition(b" ")[0]
        if not method.isupper():
            raise BadHttpMethod("a method")
        return super().parse_message(lines)


Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Server(web.Server):
    """aiohttp's server, making our connections; `open` counts them."""

    def __init__(self, handler: Handler, dates: Dates, bounds: Bounds) -> None:
        super().__init__(handler, handler_cancellation=True)
        self.dates = dates
        self.bounds = bounds
        self.open = 0

    def __call__(self) -> RequestHandler:
        """Make one."""
        return _Connection(self, asyncio.get_running_loop())


class _Connection(RequestHandler):
    """One connection."""

    def __init__(self, server: Server, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=server.bounds.idle_s,
            access_log=None,  # type: ignore[arg-type]  # None switches it off, as AppRunner documents
            auto_decompress=False,
            max_line_size=LINE_MAX_BYTES,
            max_field_size=FIELD_MAX_BYTES,
            max_headers=HEADERS_MAX,
            lingering_time=LINGER_S,
        )
        self._server = server
        self._head_timer: asyncio.TimerHandle | None = None
        if isinstance(self._parser, HttpRequestParserPy):
            self._parser = ExactParser(
                self,
                loop,
                self._read_bufsize,
                max_line_size=LINE_MAX_BYTES,
                max_field_size=FIELD_MAX_BYTES,
                max_headers=HEADERS_MAX,
                payload_exception=web.RequestPayloadError,
                auto_decompress=False,
                max_msg_queue_size=self._max_msg_queue_size,
            )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        server = self._server
        server.open += 1
        if server.open > server.bounds.connections_max:
            transport.close()
            return
        self._watch_head()

    def data_received(self, data: bytes) -> None:
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

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_watch()
        self._server.open -= 1
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        del exc, message  # they may quote what was sent
        if self.transport is None:
            return Told(status, keeps=False)
        way = WayBack(request, self._server.dates, self._server.bounds)
        broken = status < HTTPStatus.INTERNAL_SERVER_ERROR
        way.refuse(_NOT_HTTP if broken else _OUR_MISTAKE)
        return way.told()

    def _end_broken_body(self) -> None:
        """Let go who waits for a body that will never end: nothing is parsed after it but that it is broken."""
        request = self._current_request
        if request is not None and not request.content.is_eof():
            request.content.set_exception(web.RequestPayloadError("the body's framing is broken"))
            request.content.feed_eof()

    def _watch_head(self) -> None:
        self._head_timer = self._loop.call_later(self._server.bounds.head_s, self._head_is_late)

    def _stop_watch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self._messages and not self._request_in_progress:
            self.force_close()


_NOT_HTTP = refused(ErrorCode.INVALID_REQUEST, "The request is not valid HTTP.", ends=True)
_OUR_MISTAKE = refused(ErrorCode.INTERNAL_ERROR, "An internal error of the node agent.", ends=True)
