"""One answer of a target, good or spoilt by the faults that strike it.

What has become of it so far stands in `Told`, from which the target tells. Not here: the bytes (`speech.py`).
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from chaos.stand import speech
from chaos.stand.asked import Asked
from chaos.stand.modes import ENDLESS, GARBAGE, RESET_MIDWAY, SILENT, STALL_MIDWAY, STATUS, Modes

TOO_MANY = 429

ENDLESS_PAUSE_S = 0.05
"""An event without end comes at five megabytes a second, so that a bound is met before a timer."""

ARRIVES_S = 0.02
"""What was sent before a reset has arrived by then: a reset destroys what is on its way."""

SILENCE_S = 3600.0
"""Longer than any run: whoever waits goes away."""

JSON, EVENTS = "application/json", "text/event-stream"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a target speaks, in seconds."""

    first_token_s: float
    token_s: float


@dataclass(slots=True)
class Told:
    """What one answer has been so far: `how` it ended, its HTTP status, its tokens, its counts."""

    how: str = "left"
    status: int = 0
    says: list[str] = field(default_factory=list)
    finished: bool = False
    usage: tuple[int, int] | None = None


class Answer:
    """One answer; `suffers` hears of the row of the failure matrix that strikes it."""

    def __init__(
        self,
        request: web.BaseRequest,
        asked: Asked,
        told: Told,
        pace: Pace,
        modes: Modes,
        suffers: Callable[[str], None],
    ) -> None:
        self._request = request
        self._asked = asked
        self._told = told
        self._pace = pace
        self._modes = modes
        self._suffers = suffers

    async def give(self) -> web.StreamResponse:
        """Write it to its end, or to where it breaks."""
        told, striking = self._told, self._modes.striking
        if striking(SILENT) is not None:
            self._suffers("FV2")
            told.how = "silent"
            await asyncio.sleep(SILENCE_S)
        status = striking(STATUS)
        if status is not None:
            return self._refused(int(status.amount))
        if striking(GARBAGE) is not None:
            return await self._nonsense()
        if striking(ENDLESS) is not None:
            return await self._endless()
        return await self._streamed() if self._asked.streamed else await self._whole()

    def _refused(self, status: int) -> web.StreamResponse:
        self._told.status = status
        self._suffers("FV7" if status == TOO_MANY else "FV1")
        return page(status, speech.error(status))

    async def _streamed(self) -> web.StreamResponse:
        asked, told, pace = self._asked, self._told, self._pace
        breaks_at, breaks_by = self._breaks()
        await asyncio.sleep(pace.first_token_s)
        response = await self._begun(EVENTS)
        await response.write(speech.opening(asked))
        for nth in range(1, asked.tokens + 1):
            if nth > breaks_at:
                await self._break(breaks_by, "FV3" if breaks_by == RESET_MIDWAY else "FV4")
            if nth > 1:
                await asyncio.sleep(pace.token_s)
            text = speech.token_text(asked.exchange, nth)
            told.says.append(text)
            await response.write(speech.token(asked, text))
        if asked.usage_asked:
            told.usage = (asked.prompt_tokens, asked.tokens)
        told.finished = True
        await response.write(speech.closing(asked))
        await response.write_eof()
        return response

    async def _whole(self) -> web.StreamResponse:
        asked, told, pace = self._asked, self._told, self._pace
        await asyncio.sleep(pace.first_token_s + pace.token_s * (asked.tokens - 1))
        text = "".join(speech.token_text(asked.exchange, nth) for nth in range(1, asked.tokens + 1))
        body = speech.whole(asked, text)
        _, breaks_by = self._breaks()
        if breaks_by:
            response = await self._begun(JSON, len(body))
            await response.write(body[: len(body) // 2])
            await self._break(breaks_by, "FV1" if breaks_by == RESET_MIDWAY else "FV2")
        told.status, told.finished = 200, True
        told.says.append(text)
        told.usage = (asked.prompt_tokens, asked.tokens)
        return page(200, body)

    def _breaks(self) -> tuple[int, str]:
        """Give after how many tokens it breaks and how; nothing where it does not."""
        for name in (RESET_MIDWAY, STALL_MIDWAY):
            mode = self._modes.striking(name)
            if mode is not None:
                return int(mode.amount) or max(1, self._asked.tokens // 2), name
        return self._asked.tokens + 1, ""

    async def _break(self, name: str, row: str) -> None:
        self._suffers(row)
        if name == RESET_MIDWAY:
            await asyncio.sleep(ARRIVES_S)
            self._told.how = "cut"
            _reset(self._request)
            raise ConnectionResetError
        self._told.how = "silent"
        await asyncio.sleep(SILENCE_S)

    async def _nonsense(self) -> web.StreamResponse:
        self._suffers("FV9")
        if not self._asked.streamed:
            self._told.status = 200
            return page(200, speech.PAGE)
        response = await self._begun(EVENTS)
        for event in speech.GARBAGE:
            await response.write(event)
        await response.write_eof(speech.DONE)
        return response

    async def _endless(self) -> web.StreamResponse:
        self._suffers("FV9")
        response = await self._begun(EVENTS if self._asked.streamed else JSON)
        await response.write(speech.ENDLESS_HEAD[0 if self._asked.streamed else len(b"data: ") :])
        while True:
            await response.write(speech.ENDLESS_PIECE)
            await asyncio.sleep(ENDLESS_PAUSE_S)

    async def _begun(self, content_type: str, length: int | None = None) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": content_type})
        response.content_length = length
        await response.prepare(self._request)
        self._told.status = 200
        return response


def page(status: int, body: bytes) -> web.Response:
    """Make a whole page of JSON."""
    return web.Response(status=status, body=body, content_type=JSON)


def _reset(request: web.BaseRequest) -> None:
    """End a connection by RST, what is still to be sent included."""
    transport = request.transport
    if transport is not None:
        found = transport.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
