"""A vendor, or an engine on a node, that does exactly what a script says and remembers what it saw.

Requests with a body (POST) take the scripts given, one each, in order; then the standing script. Looks (GET
requests, and those for one token or text) are answered from `pages` and remembered apart, and so are
connections that nothing else came on: a look never uses up a script, and moves no number.
"""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from tests.world.events import VENDOR_MODEL, chat_answer, compact
from tests.world.ground import Ground, Listening
from tests.world.http_message import Malformed, MessageHead, MessageReader, SeenRequest
from tests.world.script import (
    Acknowledged,
    Chunk,
    End,
    Fin,
    Framing,
    Head,
    Hold,
    Pause,
    Raw,
    Rst,
    Script,
    Step,
    Wait,
    answer,
    fin,
    status,
)
from tests.world.watch import PATIENCE_S, Watch

CANCELLED_WITHIN_S = 1.0
"""How soon an upstream must be left once its client is gone (api: streaming)."""

TOKEN_LOOK = {
    "model": VENDOR_MODEL,
    "messages": [{"role": "user", "content": "Hi"}],
    "max_tokens": 1,
    "stream": False,
}
"""How the gateway asks a node for one token; its page is named `TOKEN_PAGE`."""

TEXT_LOOK = {"model": VENDOR_MODEL, "input": "Hi"}
"""How it asks one that does not chat; it gets the same page."""

TOKEN_PAGE = "one token"


@dataclass(slots=True, eq=False)
class SeenConnection:
    """One connection as the vendor saw it. `gone_*` tell of the peer's close only, never of the vendor's own.

    `asked`: a call came on it, not only looks.
    """

    index: int
    opened_at: float
    asked: bool = False
    gone_at: float | None = None
    gone_by: Literal["fin", "rst"] | None = None
    closed_at: float | None = None


class MockVendor:
    """Listens, follows scripts, remembers. Made by `World.vendor`."""

    def __init__(self, name: str, ground: Ground) -> None:
        self.name = name
        self.requests: list[SeenRequest] = []
        self.probes: list[SeenRequest] = []
        self.connections: list[SeenConnection] = []
        self.pages: dict[str, Script] = {
            "/v1/models": page(_models(VENDOR_MODEL)),
            TOKEN_PAGE: page(chat_answer("H", completion=1)),
            "/metrics": (*status(404, headers=(("Connection", "close"),)), fin()),
        }
        self.watch = Watch()
        self.ground = ground
        self._scripts: deque[Script] = deque()
        self._standing: Script | None = None
        self._open_gates: set[str] = set()
        self._acknowledged = 0
        self._listening: Listening | None = None
        self._live: set[VendorConnection] = set()

    async def start(self) -> None:
        """Begin to listen."""
        self._listening = await self.ground.listen(self.name, lambda: VendorConnection(self))

    def stop_listening(self) -> None:
        """Refuse new connections; open ones go on."""
        assert self._listening is not None, "not started"
        self._listening.close()

    async def stop(self) -> None:
        """Close the port and every connection."""
        self.stop_listening()
        for connection in tuple(self._live):
            self.ground.reset(connection.transport)
        await self.watch.until(lambda: not self._live, f"{self.name}: all connections closed")

    @property
    def listening(self) -> Listening:
        """Where it listens."""
        assert self._listening is not None, "not started"
        return self._listening

    @property
    def url(self) -> str:
        """Base URL for a catalogue entry, with `/v1`."""
        return f"{self.listening.url}/v1"

    def script(self, *steps: Step) -> None:
        """Give the script of the next request that has none yet."""
        self._scripts.append(steps)

    def standing(self, script: Script) -> None:
        """Give the script for all requests beyond those scripted one by one; a callable sees the request."""
        self._standing = script

    def open(self, gate: str) -> None:
        """Let every `wait(gate)` pass, now and later."""
        self._open_gates.add(gate)
        self.watch.changed()

    def acknowledge(self) -> None:
        """Let one `acknowledged()` pass."""
        self._acknowledged += 1
        self.watch.changed()

    async def passed(self, gate: str) -> None:
        """Wait for a gate; used by the connections."""
        await self.watch.until(lambda: gate in self._open_gates, f"gate {gate}", None)

    async def take_acknowledgement(self) -> None:
        """Wait for one acknowledgement and use it up; used by the connections."""
        await self.watch.until(lambda: self._acknowledged > 0, "an acknowledgement", None)
        self._acknowledged -= 1

    async def request(self, index: int = 0, within_s: float = PATIENCE_S) -> SeenRequest:
        """Give the POST request of this index, waiting for it."""
        what = f"{self.name}: request {index}"
        await self.watch.until(lambda: len(self.requests) > index, what, within_s)
        return self.requests[index]

    async def left(self, index: int = 0, within_s: float = PATIENCE_S) -> SeenConnection:
        """Give the connection of this index once the peer has closed it."""
        what = f"{self.name}: the peer leaves connection {index}"
        await self.watch.until(lambda: self._has_left(index), what, within_s)
        return self.connections[index]

    def _has_left(self, index: int) -> bool:
        return len(self.connections) > index and self.connections[index].gone_at is not None

    def steps_for(self, request: SeenRequest) -> Sequence[Step]:
        """Remember a request and choose its script; used by the connections."""
        if is_look(request):
            self.probes.append(request)
            name = request.head.target if request.head.method == "GET" else TOKEN_PAGE
            script = self.pages.get(name, status(404))
        else:
            self.requests.append(request)
            self.watch.changed()
            chosen = self._scripts.popleft() if self._scripts else self._standing
            assert chosen is not None, f"{self.name} got a request that nobody scripted: {request.head.start}"
            script = chosen
        return script(request) if callable(script) else script

    def opened(self, connection: "VendorConnection") -> SeenConnection:
        """Remember a connection; used by the connections."""
        seen = SeenConnection(len(self.connections), self.ground.now())
        self.connections.append(seen)
        self._live.add(connection)
        self.watch.changed()
        return seen

    def looked(self, seen: SeenConnection) -> None:
        """Set a connection apart that nothing but looks came on; used by the connections."""
        if not seen.asked and seen in self.connections:
            self.connections.remove(seen)
            for index, other in enumerate(self.connections):
                other.index = index

    def asked(self, seen: SeenConnection) -> None:
        """Count a connection that a call came on; used by the connections."""
        seen.asked = True
        if seen not in self.connections:
            seen.index = len(self.connections)
            self.connections.append(seen)

    def closed(self, connection: "VendorConnection") -> None:
        """Forget a live connection; used by the connections."""
        self._live.discard(connection)
        self.watch.changed()


def page(body: bytes) -> tuple[Step, ...]:
    """Answer a look, and close: no call is to find a connection that a look has used."""
    return (*answer(body, headers=(("Connection", "close"),)), fin())


def is_look(request: SeenRequest) -> bool:
    """Whether a request is the gateway's own look at a node."""
    return request.head.method == "GET" or (
        b'"Hi"' in request.body and json.loads(request.body) in (TOKEN_LOOK, TEXT_LOOK)
    )


def _models(*names: str) -> bytes:
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "vendor"} for name in names]
    return compact({"object": "list", "data": data})


class VendorConnection(asyncio.Protocol):
    """One connection to the vendor: reads requests, follows a script for each, in order."""

    transport: asyncio.Transport

    def __init__(self, vendor: MockVendor) -> None:
        self._vendor = vendor
        self._reader = MessageReader(self, response=False)
        self._watch = Watch()
        self._queue: deque[SeenRequest] = deque()
        self._head: MessageHead | None = None
        self._body: list[bytes] = []
        self._framing: Framing | None = None
        self._choked = False
        self._closed_by_script = False
        self._error: Malformed | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start to serve."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's has no base
        self.seen = self._vendor.opened(self)
        self._task = self._vendor.ground.spawn(self._serve())

    def data_received(self, data: bytes) -> None:
        """Read requests; what is none fails the test."""
        try:
            self._reader.feed(data)
        except Malformed as error:
            self._error = error
            self._watch.changed()

    def on_head(self, head: MessageHead) -> None:
        """Begin a request."""
        self._head, self._body = head, []

    def on_body(self, data: bytes) -> None:
        """Collect its body."""
        self._body.append(data)

    def on_end(self) -> None:
        """Hand it to the script."""
        assert self._head is not None
        request = SeenRequest(self._head, b"".join(self._body), self.seen.index, self._vendor.ground.now())
        if is_look(request):
            self._vendor.looked(self.seen)
        else:
            self._vendor.asked(self.seen)
            request = replace(request, connection=self.seen.index)
        self._queue.append(request)
        self._watch.changed()

    def eof_received(self) -> bool:
        """Remember that the peer closed by FIN, and leave."""
        self._gone("fin")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Remember that the peer reset the connection, if it did."""
        if exc is not None:
            self._gone("rst")
        self.seen.closed_at = self._vendor.ground.now()
        self._task.cancel()
        self._vendor.closed(self)

    def pause_writing(self) -> None:
        """Hold the script: the peer does not read."""
        self._choked = True

    def resume_writing(self) -> None:
        """Let the script go on."""
        self._choked = False
        self._watch.changed()

    def _gone(self, how: Literal["fin", "rst"]) -> None:
        if self.seen.gone_at is None and not self._closed_by_script:
            self.seen.gone_at, self.seen.gone_by = self._vendor.ground.now(), how
        self._vendor.watch.changed()

    async def _serve(self) -> None:
        try:
            await self._follow_scripts()
        except Exception:
            self._vendor.ground.reset(self.transport)
            raise

    async def _follow_scripts(self) -> None:
        while True:
            await self._watch.until(lambda: bool(self._queue or self._error), "a request", None)
            if self._error is not None:
                raise self._error
            for step in self._vendor.steps_for(self._queue.popleft()):
                await self._do(step)
                await self._watch.until(lambda: not self._choked, "room to write", None)

    async def _do(self, step: Step) -> None:
        match step:
            case Head() | Chunk() | Raw() | End() | Fin() | Rst():
                self._send(step)
            case Wait(gate):
                await self._vendor.passed(gate)
            case Acknowledged():
                await self._vendor.take_acknowledgement()
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Hold():
                await self._watch.until(lambda: False, "the end of the world", None)

    def _send(self, step: Head | Chunk | Raw | End | Fin | Rst) -> None:
        match step:
            case Head():
                self._framing = step.framing
                self.transport.write(encode_head(step))
            case Chunk(data):
                assert self._framing is not None, "a chunk before its head"
                chunked = self._framing is Framing.CHUNKED
                self.transport.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)
            case Raw(data):
                self.transport.write(data)
            case End():
                self._end()
            case Fin():
                self._closed_by_script = True
                self.transport.close()
            case Rst():
                self._closed_by_script = True
                self._vendor.ground.reset(self.transport)

    def _end(self) -> None:
        assert self._framing is not None, "an end before its head"
        if self._framing is Framing.CHUNKED:
            self.transport.write(b"0\r\n\r\n")
        elif self._framing is Framing.CLOSE:
            self._closed_by_script = True
            self.transport.close()
        self._framing = None


def encode_head(step: Head) -> bytes:
    """Write a response head."""
    lines = [f"HTTP/1.1 {step.status} {'OK' if step.status < 400 else 'No'}"]
    lines.append(f"Content-Type: {step.content_type}")
    lines += [f"{name}: {value}" for name, value in step.headers]
    match step.framing:
        case Framing.CHUNKED:
            lines.append("Transfer-Encoding: chunked")
        case Framing.LENGTH:
            lines.append(f"Content-Length: {step.length}")
        case Framing.CLOSE:
            lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
