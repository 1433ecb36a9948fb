"""Pages of an engine, asked for within a strict time and read up to a bound. No redirect, no kept connection.

vLLM and llama.cpp close a kept connection after 5 s, just when the next look would use it; so none is kept.
Not here: what is believed of a page (`told.py`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from ktms.node.engines.told import members
from ktms.node.whole_body import whole_body

GET_S = 2.0
"""A page is a list of names or numbers: an engine that needs longer is busy with something else."""

PAGE_MAX_BYTES = 1024 * 1024
"""A list of a thousand models with all their facts; of longer pages the beginning is read."""

_HEADERS = {"Accept-Encoding": "identity", "Connection": "close"}


class EngineAway(Exception):
    """Nobody answered, or not in time, or broke off; the message is one line."""


@dataclass(frozen=True, slots=True)
class Page:
    """An answer. `body` ends at the bound."""

    status: int
    body: bytes = b""

    @property
    def value(self) -> object:
        """What it says as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @property
    def error(self) -> Mapping[str, object]:
        """The object that says what is wrong, in the shape of OpenAI; empty where there is none."""
        return members(members(self.value).get("error"))


class EngineHttp:
    """The way to one engine."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url.rstrip("/")
        self._session = session

    async def page(self, path: str, *, within_s: float = GET_S) -> Page | None:
        """GET a page, whatever its status; None where nobody answers."""
        try:
            return await self._asked("GET", path, None, within_s)
        except EngineAway:
            return None

    async def said(self, path: str, *, within_s: float = GET_S) -> object:
        """GET what a page says as JSON; None for everything but a 200 with JSON."""
        page = await self.page(path, within_s=within_s)
        return page.value if page is not None and page.status == 200 else None

    async def post(self, path: str, body: Mapping[str, object], *, within_s: float) -> Page:
        """POST a JSON object.

        Raises:
            EngineAway: see there.
        """
        return await self._asked("POST", path, body, within_s)

    async def _asked(self, method: str, path: str, body: object, within_s: float) -> Page:
        timeout = aiohttp.ClientTimeout(total=within_s)
        try:
            async with self._session.request(
                method, self.url + path, json=body, headers=_HEADERS, timeout=timeout, allow_redirects=False
            ) as answer:
                return Page(answer.status, await whole_body(answer, PAGE_MAX_BYTES))
        except TimeoutError as error:
            raise EngineAway(f"no answer within {within_s:g} s") from error
        except aiohttp.ClientConnectorError as error:
            raise EngineAway("nobody listens") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise EngineAway("it broke off") from error
