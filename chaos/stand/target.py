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

from chaos.stand import speech
from chaos.stand.answering import SILENCE_S, Answer, Pace, Told, page
from chaos.stand.asked import Asked, read_asked
from chaos.stand.modes import FAULT_OF, REFUSE, SILENT, STATUS, Modes
from chaos.stand.run_journal import RunJournal
from sim.journal.fact import Value

CHAT = "/v1/chat/completions"

CONNECTIONS_WAIT_MAX = 1024
"""Connections that the kernel holds for a target: more than ever come at once."""

ACCEPT_TURNS = 4
"""Turns of the loop until a connection that was taken is one that can be ended; a server that closes before leaves
it open for ever."""


@dataclass(frozen=True, slots=True)
class Manner:
    """What a target is: a vendor in the cloud, or a node; the window of a vendor is None."""

    name: str
    cloud: bool
    model: str
    window: int | None
    pace: Pace


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
        self._paths: set[tuple[str, str]] = set()
        self._web: web.Server | None = None
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        """Take connections, always on the same port."""
        loop = asyncio.get_running_loop()
        self._web = web.Server(self._respond, handler_cancellation=True, access_log=None)
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
            await self._web.shutdown(0.0)
            await server.wait_closed()

    async def mode(self, name: str, amount: float = 0.0, *, on: bool, every: int = 1) -> None:
        """Switch one fault on or off; answers under way go on as they are, unless it refuses.

        `amount`: tokens before a reset or a stall (0: half of them), or the status. It strikes `every` so many
        requests.
        """
        members: dict[str, Value] = {"fault": FAULT_OF[name], "target": self.name, "on": on, "amount": amount}
        self._journal.note("fault", "world", **members)
        self._modes.switch(name, amount, on=on, every=every)
        if name != REFUSE:
            return
        if on:
            self._journal.note("fault_active", self.name, id="FV1", target=self.name, call="")
            await self.refuse()
        elif self._server is None:
            await self.listen()

    async def heal(self) -> None:
        """Switch all faults off."""
        for name in self._modes.names:
            await self.mode(name, on=False)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        place = (request.method, request.path)
        if place not in self._paths:
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
        match request.method, request.path:
            case "GET", "/v1/models":
                return page(200, speech.models(self.manner.model, self.manner.window))
            case "GET", "/metrics" if not self.manner.cloud:
                body = speech.metrics(self.manner.model, sum(self.open.values()))
                return web.Response(body=body, content_type="text/plain")
            case _:
                return page(404, speech.error(404))

    async def _exchange(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request for a model; it is told of whatever becomes of it."""
        asked = read_asked(self._exchanges(), await request.read(), _key_of(request))
        self._note_asked(asked)
        told = Told()
        self.open[asked.gateway] = self.open.get(asked.gateway, 0) + 1
        self.most = max(self.most, sum(self.open.values()))
        try:
            suffers = partial(self._suffers, asked)
            answer = Answer(request, asked, told, self.manner.pace, self._modes, suffers)
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
            other_model=False,
            prompt_cut=False,
            prompt_tokens=prompt,
            completion_tokens=completion,
        )

    def _suffers(self, asked: Asked, row: str) -> None:
        self._journal.note("fault_active", self.name, id=row, target=self.name, call=asked.call)


def _key_of(request: web.BaseRequest) -> str:
    """Name the credential of a request without telling it."""
    shown = request.headers.get("Authorization", "")
    return hashlib.sha256(shown.encode()).hexdigest()[:8] if shown else ""
