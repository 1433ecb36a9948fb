"""One answer of a target, good or spoilt by the faults that strike it.

What has become of it so far stands in `Told`, from which the target tells. Not here: the bytes (`speech.py`).
"""

import asyncio
import socket
import struct
from dataclasses import dataclass, field, replace
from typing import Protocol

from aiohttp import web

from chaos.stand import modes as faults
from chaos.stand import speech, turned_down
from chaos.stand.asked import Asked
from chaos.stand.modes import ENDLESS, GARBAGE, RESET_MIDWAY, SILENT, STALL_MIDWAY, STATUS, Modes
from chaos.stand.shelf import Shelf
from sim.journal.fact import Value

TOO_MANY = 429

UNWELL = 500

ENDLESS_PAUSE_S = 0.05
"""An event without end comes at five megabytes a second, so that a bound is met before a timer."""

ARRIVES_S = 0.02
"""What was sent before a reset has arrived by then: a reset destroys what is on its way."""

SILENCE_S = 3600.0
"""Longer than any run: whoever waits goes away."""

JSON, EVENTS = "application/json", "text/event-stream"

MIB = 1 << 20

OTHER_MODEL = "chaos-model-2"
"""What answers where somebody has loaded something else."""


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
    retry_after_s: float | None = None
    other_model: bool = False


class Suffers(Protocol):
    """Hears of the row of the failure matrix that strikes an answer, and what is to be said of it."""

    def __call__(self, row: str, **members: Value) -> None:
        """Note it."""
        ...


class Answer:
    """One answer; `beside` are those under way at the same target, `shelf` says whether it has its model."""

    def __init__(
        self,
        request: web.BaseRequest,
        asked: Asked,
        told: Told,
        pace: Pace,
        modes: Modes,
        suffers: Suffers,
        *,
        beside: int = 0,
        shelf: Shelf | None = None,
    ) -> None:
        self._request = request
        self._asked = asked
        self._told = told
        self._pace = pace
        self._modes = modes
        self._suffers = suffers
        self._beside = beside
        self._shelf = shelf

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
        if not self._asked.call and self._modes.of_all(faults.UNSEEN) is not None:
            told.status = UNWELL
            return page(UNWELL, speech.error(UNWELL))
        down = self._turned_down()
        if down is not None:
            told.status = down.status
            return down
        strange = await self._strange()
        if strange is not None:
            return strange
        if self._shelf is not None:
            await self._shelf.fetched()
        if striking(faults.OTHER_MODEL) is not None:
            self._suffers("FN5")
            told.other_model = True
            self._asked = replace(self._asked, model=OTHER_MODEL)
        return await self._streamed() if self._asked.streamed else await self._whole()

    def _turned_down(self) -> web.Response | None:
        """Give the page with which a request is turned down, where it is."""
        modes, asked = self._modes, self._asked
        limited = modes.limiting(asked.key)
        if limited is not None:
            self._suffers("FV7")
            self._told.retry_after_s = limited.amount
            return turned_down.limited(limited.amount)
        full = modes.of_all(faults.FULL)
        if full is not None and self._beside >= full.amount:
            self._suffers("FN2")
            return turned_down.busy()
        if modes.of_all(faults.LOADING) is not None:
            self._suffers("FN4")
            return turned_down.loading()
        meaning = modes.striking(faults.MEANING)
        if meaning is not None:
            self._suffers("FV8", meant=meaning.amount)
            return turned_down.meant(int(meaning.amount), streamed=asked.streamed)
        return None

    async def _strange(self) -> web.StreamResponse | None:
        """Give what is no answer, or never ends, where that is what is to be given."""
        striking = self._modes.striking
        garbage = striking(GARBAGE)
        if garbage is not None:
            return await self._nonsense(int(garbage.amount))
        if striking(ENDLESS) is not None:
            return await self._endless()
        gigantic = striking(faults.GIGANTIC)
        if gigantic is not None:
            return await self._gigantic(int(gigantic.amount) * MIB)
        if striking(faults.COMPRESSED) is not None:
            self._suffers("FV9", what=faults.COMPRESSED)
            self._told.status = 200
            headers = {"Content-Encoding": "gzip"}
            kind = EVENTS if self._asked.streamed else JSON
            return web.Response(body=speech.packed(self._asked), content_type=kind, headers=headers)
        drip = striking(faults.DRIP)
        return None if drip is None else await self._dripping(drip.amount)

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

    async def _nonsense(self, after: int) -> web.StreamResponse:
        """Send what is no event, after so many tokens."""
        self._suffers("FV9", what=GARBAGE)
        if not self._asked.streamed:
            self._told.status = 200
            return page(200, speech.PAGE)
        response = await self._begun(EVENTS)
        for nth in range(1, after + 1):
            text = speech.token_text(self._asked.exchange, nth)
            self._told.says.append(text)
            await response.write(speech.token(self._asked, text))
        for event in speech.GARBAGE:
            await response.write(event)
        await response.write_eof(speech.DONE)
        return response

    async def _gigantic(self, length: int) -> web.StreamResponse:
        """Send one event, or one string, of so many bytes, as fast as they are taken."""
        self._suffers("FV9", what=faults.GIGANTIC)
        response = await self._begun(EVENTS if self._asked.streamed else JSON)
        await response.write(speech.ENDLESS_HEAD[0 if self._asked.streamed else len(b"data: ") :])
        for _ in range(0, length, len(speech.ENDLESS_PIECE)):
            await response.write(speech.ENDLESS_PIECE)
        await response.write_eof(b'"}}]}\n\n' + speech.DONE)
        return response

    async def _dripping(self, pause_s: float) -> web.StreamResponse:
        """Send a good answer, each byte alone."""
        self._suffers("FV9", what=faults.DRIP)
        asked, told = self._asked, self._told
        texts = [speech.token_text(asked.exchange, nth) for nth in range(1, asked.tokens + 1)]
        pieces = [(speech.whole(asked, "".join(texts)), "".join(texts))]
        if asked.streamed:
            events = [(speech.token(asked, text), text) for text in texts]
            pieces = [(speech.opening(asked), ""), *events, (speech.closing(asked), "")]
        response = await self._begun(EVENTS if asked.streamed else JSON)
        for data, says in pieces:
            for at in range(len(data)):
                await response.write(data[at : at + 1])
                await asyncio.sleep(pause_s)
            told.says += [says] if says else []
        told.finished = True
        told.usage = (asked.prompt_tokens, asked.tokens) if asked.usage_asked or not asked.streamed else None
        await response.write_eof()
        return response

    async def _endless(self) -> web.StreamResponse:
        self._suffers("FV9", what=ENDLESS)
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
