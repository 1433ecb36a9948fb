"""A client that sees every byte the gateway sends, and when; and that can leave in every way a client leaves."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import cast

from tests.world.events import compact
from tests.world.ground import Ground
from tests.world.http_message import Malformed, MessageHead, MessageReader
from tests.world.sse_text import Event, EventSplitter
from tests.world.watch import PATIENCE_S, Watch


def post(
    target: str,
    body: bytes | Mapping[str, object],
    *,
    key: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> bytes:
    """Write a POST request; a mapping is encoded as compact JSON."""
    payload = body if isinstance(body, bytes) else compact(body)
    lines = [f"POST {target} HTTP/1.1", "Host: gateway", "Content-Type: application/json"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    lines += [f"{name}: {value}" for name, value in headers]
    lines.append(f"Content-Length: {len(payload)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + payload


def get(target: str, *, key: str | None = None) -> bytes:
    """Write a GET request."""
    authorization = "" if key is None else f"Authorization: Bearer {key}\r\n"
    return f"GET {target} HTTP/1.1\r\nHost: gateway\r\n{authorization}\r\n".encode("latin-1")


class RawClient(asyncio.Protocol):
    """One connection. Send requests as bytes, read answers one after the other. Made by `World.client`."""

    transport: asyncio.Transport

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._reader = MessageReader(self, response=True)
        self._splitter = EventSplitter()
        self._watch = Watch()
        self._heads: deque[MessageHead] = deque()
        self._events: deque[Event] = deque()
        self._body: list[bytes] = []
        self._ends = 0
        self._lost = False
        self._released = False
        self.interim: list[MessageHead] = []
        self.error: Exception | None = None
        self.cut = False
        """Whether the connection ended in the middle of a message."""
        self.closed_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base

    def data_received(self, data: bytes) -> None:
        """Read the answer, stamping each event; what is none counts as a cut."""
        try:
            self._reader.feed(data)
        except Malformed as error:
            self._ended(error)
        self._watch.changed()

    def eof_received(self) -> bool:
        """Note the peer's FIN."""
        self._ended(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the connection."""
        self._ended(exc)
        self._released = True
        self._watch.changed()

    def _ended(self, error: Exception | None) -> None:
        if self._lost:
            return
        self._lost, self.error, self.closed_at = True, error, self._ground.now()
        self.cut = not self._reader.closed()
        self._watch.changed()

    def on_head(self, head: MessageHead) -> None:
        """Take a head; 1xx ones are kept apart."""
        (self.interim if head.status < 200 else self._heads).append(head)

    def on_body(self, data: bytes) -> None:
        """Take body bytes."""
        self._body.append(data)
        self._events.extend(self._splitter.feed(data, self._ground.now()))

    def on_end(self) -> None:
        """Take the end of a message."""
        self._ends += 1

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.transport.write(data)

    async def head(self, within_s: float = PATIENCE_S) -> MessageHead:
        """Give the head of the next answer."""
        await self._watch.until(lambda: bool(self._heads) or self._lost, "a response head", within_s)
        assert self._heads, f"the connection ended before a head came ({self.error!r})"
        return self._heads.popleft()

    async def event(self, within_s: float = PATIENCE_S) -> Event | None:
        """Give the next event; None when the stream is over, however it ended (see `cut`)."""
        await self._watch.until(lambda: bool(self._events) or self._ends > 0 or self._lost, "an event", within_s)
        return self._events.popleft() if self._events else None

    async def events(self, within_s: float = PATIENCE_S) -> AsyncIterator[Event]:
        """Yield the events of the answer until it is over; `within_s` bounds the wait for each."""
        while (event := await self.event(within_s)) is not None:
            yield event

    async def body(self, within_s: float = PATIENCE_S) -> bytes:
        """Give the whole body of the answer once it is over, and make ready for the next answer."""
        await self._watch.until(lambda: self._ends > 0 or self._lost, "the end of the answer", within_s)
        whole = b"".join(self._body)
        self._body, self._splitter = [], EventSplitter()
        self._events.clear()
        self._ends = max(0, self._ends - 1)
        return whole

    async def json(self, within_s: float = PATIENCE_S) -> dict[str, object]:
        """Give the whole body as a JSON object."""
        value = json.loads(await self.body(within_s))
        assert isinstance(value, dict)
        return value

    async def closed(self, within_s: float = PATIENCE_S) -> None:
        """Wait until the connection has ended, from either side."""
        await self._watch.until(lambda: self._released, "the end of the connection", within_s)

    @property
    def seen(self) -> bytes:
        """All body bytes of the current answer so far, framing removed."""
        return b"".join(self._body)

    @property
    def is_over(self) -> bool:
        """Whether the current answer is complete, by its framing."""
        return self._ends > 0

    @property
    def unfinished_event(self) -> bytes:
        """Bytes after the last blank line."""
        return self._splitter.left

    def stop_reading(self) -> None:
        """Read no more: the gateway's buffers fill."""
        self.transport.pause_reading()

    def read_on(self) -> None:
        """Read again."""
        self.transport.resume_reading()

    def fin(self) -> None:
        """Leave by FIN; what still arrives is read, so that no reset follows by itself."""
        self.transport.write_eof()

    def rst(self) -> None:
        """Leave by RST."""
        self._ground.reset(self.transport)

    def leave(self) -> None:
        """Close at once, what is still to be sent included; harmless on a closed connection."""
        self.transport.abort()
