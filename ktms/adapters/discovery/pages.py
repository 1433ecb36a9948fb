"""One page of one loopback port, asked for within a strict time; everything that is not an answer is None."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

import aiohttp
import msgspec

HOST: Final = "127.0.0.1"

ASK_WITHIN_S: Final = 0.3
"""An engine on this machine answers such pages in milliseconds; one that does not is not worth a slow start."""

PAGE_BYTES_MAX: Final = 1024 * 1024
"""A list of thousands of models still fits; more is no page of an engine."""

Page = str | None
"""Text of a page that was answered with 200; None for everything else."""

Ask = Callable[[int, str], Awaitable[Page]]
"""Asks a port for a path."""


class LoopbackAsker:
    """Asks ports of this machine, while entered. No proxy, no redirect, no cookie."""

    def __init__(self, *, within_s: float = ASK_WITHIN_S) -> None:
        self._within_s = within_s
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            connector=aiohttp.TCPConnector(limit=0, force_close=True),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def ask(self, port: int, path: str) -> Page:
        """GET a page; None when nobody listens, it is late, too long, not text, or not a 200."""
        assert self._session is not None, "only while entered"
        try:
            async with (
                asyncio.timeout(self._within_s),
                self._session.get(f"http://{HOST}:{port}{path}", allow_redirects=False) as answer,
            ):
                if answer.status != 200:  # HTTP OK
                    return None
                return await _text(answer)
        except (OSError, TimeoutError, ValueError, aiohttp.ClientError):
            return None  # whatever it is, it is no engine that we could use now


async def _text(answer: aiohttp.ClientResponse) -> Page:
    body = bytearray()
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > PAGE_BYTES_MAX:
            return None
    return body.decode()


def members(page: Page) -> dict[str, object]:
    """Read a page as a JSON object; empty when it is none."""
    if page is None:
        return {}
    try:
        value = msgspec.json.decode(page)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
