"""One vendor or bare engine: an HTTP server of this process that notes what it is asked and what it tells.

Every request for a model is `asked` and, however its answer ends, `told` once, as in the simulator, so that the
same judges read it. What it does wrong is switched by `mode`, for each `every`th request. Not here: an answer
(`answering.py`), the network between (proxies).
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from chaos.stand import speech, turned_down
from chaos.stand.answering import SILENCE_S, Answer, Pace, Told, page
from chaos.stand.asked import TRAVELS, Asked, read_asked
from chaos.stand.modes import EVICTED, FAULT_OF, LOADING, REFUSE, SILENT, STATUS, UNSEEN, Modes
from chaos.stand.run_journal import RunJournal
from chaos.stand.shelf import Shelf
from sim.journal.fact import Value

CHAT = "/v1/chat/completions"

CONNECTIONS_WAIT_MAX = 1024
"""Connections that the kernel holds for a target: more than ever come at once."""

BODY_BYTES_MAX = 64 * 1024 * 1024
"""Twice what a gateway takes (docs/api.md)."""

ACCEPT_TURNS = 4
"""Turns of the loop until a connection that was taken is one that can be ended; a server that closes before leaves
it open for ever."""

ENDS_S = 0.05
"""Answers under way are given so long to end; a server that gives no time at all waits for kept connections."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What a target is: a vendor in the cloud, or a node; the window of a vendor is None."""

    name: str
    cloud: bool
    model: str
    window: int | None
    pace: Pace


OF_AGENTS = ("GET", "/version")
"""What an agent asks its engine, and no gateway ever does."""


class Target:
    """One vendor or node. `exchanges` gives the next number of a request at any target of the run.

    `open` counts the answers under way, by gateway; `most` is the most there ever were at once.
    """

    def __init__(self, manner: Manner, port: int, journal: RunJournal, exchanges: Callable[[], int]) -> None:
        self.name = manner.name
        self.manner = manner
        self.port = port
        self.open: dict[str, int] = {}
        self.most = 0
        self._journal = journal
        self._exchanges = exchanges
        self._modes = Modes()
        self._shelf = Shelf(lambda: journal.note("model_loaded", manner.name, node=manner.name))
        self._paths: set[tuple[str, str]] = set()
        self._web: web.Server | None = None
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Take connections, always on the same port."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(self._respond, request_factory=_request, handler_cancellation=True, access_log=None)
        self._server = await loop.create_server(self._web, "127.0.0.1", self.port, backlog=CONNECTIONS_WAIT_MAX)

    async def refuse(self) -> None:
        """Take no more connections, and end those there are."""
        if self._server is not None and self._web is not None:
            server, self._server = self._server, None
            loop = asyncio.get_running_loop()
            for listening in server.sockets:
                loop.remove_reader(listening.fileno())
            for _ in range(ACCEPT_TURNS):
                await asyncio.sleep(0)
            server.close()
            await self._web.shutdown(ENDS_S)
            await server.wait_closed()

    async def mode(self, name: str, amount: float = 0.0, *, on: bool, every: int = 1) -> None:
        """Switch one fault on or off; answers under way go on as they are, unless it refuses.

        `amount`: tokens before a reset or a stall (0: half of them), or the status. It strikes `every` so many
        requests.
        """
        members: dict[str, Value] = {"fault": FAULT_OF[name], "target": self.name, "on": on, "amount": amount}
        self._journal.note("fault", "world", **members)
        self._modes.switch(name, amount, on=on, every=every)
        if name in (LOADING, EVICTED):
            self._shelve(name, amount, on=on)
        if name != REFUSE:
            return
        if on:
            self._journal.note("fault_active", self.name, id="FV1", target=self.name, call="")
            await self.refuse()
        elif self._server is None:
            await self.listen()

    def _shelve(self, name: str, takes_s: float, *, on: bool) -> None:
        """Take its model out of memory or put it back; one that loads has it when that is over."""
        if on:
            self._journal.note("model_gone", self.name, node=self.name)
        if name == EVICTED and on:
            self._shelf.evict(takes_s)
        elif name == EVICTED:
            self._shelf.put_back()
        elif not on:
            self._journal.note("model_loaded", self.name, node=self.name)

    async def heal(self) -> None:
        """Switch all faults off."""
        for name in self._modes.names:
            await self.mode(name, on=False)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        place = (request.method, request.path)
        if place not in self._paths and place != OF_AGENTS:
            self._paths.add(place)
            self._journal.note("path_seen", self.name, target=self.name, method=place[0], path=place[1])
        if place != ("POST", CHAT):
            return await self._looked_at(request)
        return await self._exchange(request)

    async def _looked_at(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer what is no question to a model; who is silent or ill is so here too."""
        if self._modes.of_all(SILENT) is not None:
            await asyncio.sleep(SILENCE_S)
        ill = self._modes.of_all(STATUS)
        if ill is not None:
            return page(int(ill.amount), speech.error(int(ill.amount)))
        if self._modes.of_all(UNSEEN) is not None:
            return page(500, speech.error(500))
        if self._modes.of_all(LOADING) is not None:
            return turned_down.loading()
        match request.method, request.path:
            case "GET", "/v1/models":
                away = self._shelf.away
                return page(200, speech.models(self.manner.model, self.manner.window, away=away))
            case "GET", "/version" if not self.manner.cloud:
                return page(200, speech.VERSION)
            case "GET", "/metrics" if not self.manner.cloud:
                body = speech.metrics(self.manner.model, sum(self.open.values()))
                return web.Response(body=body, content_type="text/plain")
            case _:
                return page(404, speech.error(404))

    async def _exchange(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request for a model; it is told of whatever becomes of it."""
        asked = read_asked(
            self._exchanges(), await request.read(), _key_of(request), request.headers.get(TRAVELS, "")
        )
        self._note_asked(asked)
        told, beside = Told(), sum(self.open.values())
        self.open[asked.gateway] = self.open.get(asked.gateway, 0) + 1
        self.most = max(self.most, sum(self.open.values()))
        try:
            suffers = partial(self._suffers, asked)
            answer = Answer(
                request, asked, told, self.manner.pace, self._modes, suffers, beside=beside, shelf=self._shelf
            )
            response = await answer.give()
            told.how = "whole" if told.how == "left" else told.how
        except ConnectionError:
            return web.Response(status=499)  # nobody is there to read it
        else:
            return response
        finally:
            self.open[asked.gateway] -= 1
            self._note_told(asked, told)

    def _note_asked(self, asked: Asked) -> None:
        self._journal.note(
            "asked",
            self.name,
            exchange=asked.exchange,
            target=self.name,
            cloud=self.manner.cloud,
            model=asked.model,
            call=asked.call,
            gateway=asked.gateway,
            streamed=asked.streamed,
            path=CHAT,
            key=asked.key,
        )

    def _note_told(self, asked: Asked, told: Told) -> None:
        text = "".join(told.says)
        prompt, completion = told.usage or (0, 0)
        self._journal.note(
            "told",
            self.name,
            exchange=asked.exchange,
            target=self.name,
            call=asked.call,
            how=told.how,
            status=told.status,
            text=text,
            visible=bool(text),
            finished=told.finished,
            usage_given=told.usage is not None,
            other_model=told.other_model,
            retry_after_s=told.retry_after_s,
            prompt_cut=False,
            prompt_tokens=prompt,
            completion_tokens=completion,
        )

    def _suffers(self, asked: Asked, row: str, **members: Value) -> None:
        self._journal.note("fault_active", self.name, id=row, target=self.name, call=asked.call, **members)


def _request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    """Make a request whose body may be as large as a gateway lets it be."""
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_BYTES_MAX)


def _key_of(request: web.BaseRequest) -> str:
    """Name the credential of a request without telling it."""
    shown = request.headers.get("Authorization", "")
    return hashlib.sha256(shown.encode()).hexdigest()[:8] if shown else ""
