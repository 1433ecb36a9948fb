"""The engine's leg of a chat: one request, its answer passed on piece by piece.

Rules: nothing of an answer is read but its head; whoever waits is waited for, so a slow client holds the engine
back; when the client leaves, or anything fails, the connection is aborted at once, which is how an engine learns
to stop. Only after a whole answer it is kept, for a moment. Nothing is asked twice.
Not here: the request (`engine_request.py`), what leaves towards the gateway (`way_back.py`).
"""

import asyncio
import io

import aiohttp

from ktms.domain.errors import ErrorCode
from ktms.node.filter.body import EngineBody
from ktms.node.filter.bounds import Bounds
from ktms.node.filter.engine_request import METHOD, SKIPPED, chat_request
from ktms.node.filter.refused import Refused, refused
from ktms.node.filter.way_back import EVENTS, JSON, Headers, WayBack

KEPT_S = 1.0
"""How long a connection waits for the next request: vLLM and llama.cpp close theirs after 5 s, and to meet that
moment would look like an engine that broke off. llama.cpp keeps a thread for each, so never for long."""

RETRY_AFTER_MAX_DIGITS = 5
"""A day in seconds; no engine rests longer."""

_ITS_REFUSALS = frozenset({401, 403})


class Relay:
    """Asks one engine."""

    def __init__(self, engine_url: str, bounds: Bounds) -> None:
        self._bounds = bounds
        self._streaming = chat_request(engine_url, streams=True)
        self._whole = chat_request(engine_url, streams=False)
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """Be ready to ask."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._bounds.connect_s),
            auto_decompress=False,
            skip_auto_headers=SKIPPED,
        )

    async def stop(self) -> None:
        """Close what is open."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def chat(self, body: EngineBody, way: WayBack) -> None:
        """Ask for a chat and pass the answer on.

        Raises:
            ConnectionResetError: the client has left, or takes nothing.
        """
        if body.streams:
            way.expect_events()
        try:
            answer = await self._asked(body)
            if isinstance(answer, Refused):
                way.fail(answer)
                return
            try:
                await self._pass_on(answer, way)
            finally:
                _abort(answer)
        finally:
            way.close()

    async def _asked(self, body: EngineBody) -> aiohttp.ClientResponse | Refused:
        assert self._session is not None, "started"
        request = self._streaming if body.streams else self._whole
        try:
            async with asyncio.timeout(self._bounds.begin_s if body.streams else self._bounds.whole_s):
                return await self._session.request(
                    METHOD,
                    request.url,
                    headers=request.headers,
                    data=io.BytesIO(body.text),  # bytes of a megabyte and more are warned about
                    allow_redirects=False,
                )
        except aiohttp.ClientConnectorError:
            return refused(ErrorCode.UPSTREAM_ERROR, "The engine of this node does not answer: nobody listens.")
        except aiohttp.ClientError:  # its timeouts of connections too
            return refused(ErrorCode.UPSTREAM_ERROR, "The engine of this node broke off before its answer.")
        except TimeoutError:
            return refused(ErrorCode.UPSTREAM_TIMEOUT, "The engine of this node did not begin in time.")

    async def _pass_on(self, answer: aiohttp.ClientResponse, way: WayBack) -> None:
        if answer.status != 200:
            await self._pass_error(answer, way)
            return
        kind = EVENTS if answer.content_type == EVENTS else JSON
        if not way.begun:
            way.begin(kind, None if kind == EVENTS else answer.content_length)
        elif kind != EVENTS:
            way.fail(refused(ErrorCode.UPSTREAM_ERROR, "The engine of this node did not answer with a stream."))
            return
        try:
            await self._pieces(answer.content, way)
        except (aiohttp.ClientError, TimeoutError):
            way.fail(refused(ErrorCode.STREAM_INTERRUPTED, "The engine of this node broke off."))
            return
        way.end()

    async def _pieces(self, content: aiohttp.StreamReader, way: WayBack) -> None:
        loop, silence_s = asyncio.get_running_loop(), self._bounds.silence_s
        async with asyncio.timeout(silence_s) as silence:
            while piece := await content.readany():
                way.send(piece)
                if way.is_full:
                    silence.reschedule(None)
                    await way.taken()
                silence.reschedule(loop.time() + silence_s)

    async def _pass_error(self, answer: aiohttp.ClientResponse, way: WayBack) -> None:
        """Pass an error on as it is, but for those that would be taken for the filter's own."""
        if answer.status in _ITS_REFUSALS:
            message = f"The engine of this node refuses its agent ({answer.status})."
            way.fail(refused(ErrorCode.UPSTREAM_AUTH_ERROR, message))
            return
        if answer.status < 400:
            message = f"The engine of this node answered {answer.status}."
            way.fail(refused(ErrorCode.UPSTREAM_ERROR, message))
            return
        text = await self._error(answer)
        way.fail(text if isinstance(text, Refused) else Refused(answer.status, text, headers=_retry_after(answer)))

    async def _error(self, answer: aiohttp.ClientResponse) -> bytes | Refused:
        text = b""
        try:
            async with asyncio.timeout(self._bounds.connect_s):
                while len(text) <= self._bounds.error_max_bytes and (piece := await answer.content.readany()):
                    text += piece
        except (aiohttp.ClientError, TimeoutError):
            text = b""
        if text and len(text) <= self._bounds.error_max_bytes:
            return text
        message = f"The engine of this node answered {answer.status}, and nothing to be passed on."
        return refused(ErrorCode.UPSTREAM_ERROR, message, status=answer.status)


def _retry_after(answer: aiohttp.ClientResponse) -> Headers:
    told = answer.headers.get("Retry-After", "")
    fits = told.isascii() and told.isdigit() and len(told) <= RETRY_AFTER_MAX_DIGITS
    return (("Retry-After", told),) if fits else ()


def _abort(answer: aiohttp.ClientResponse) -> None:
    """Close the connection now; after a whole answer there is none."""
    connection = answer.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    answer.close()
