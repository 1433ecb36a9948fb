"""Clients: each makes one call, from the request to the last byte, and notes what it saw.

Connections are kept and used again as client libraries do; a kept one that turns out to be closed is no refusal:
the call is made once more on a fresh one, under a name of its own. Every call ends: who waits too long leaves.
Not here: what is asked (`question.py`), when (`load.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import SimpleNamespace

import aiohttp

from chaos.stand.client_keys import ClientKeys
from chaos.stand.run_journal import RunJournal
from chaos.traffic.answer import Answer
from chaos.traffic.question import PATH, Question
from sim.journal.fact import Value

HOST = "client"

PATIENCE_S = 90.0
"""Longer than any call of these runs may take: whoever is kept waiting beyond leaves, and it shows."""

CONNECT_S = 10.0
"""A gateway on this machine takes a connection at once, or stands still."""

KEPT_S = 15.0
"""Client libraries drop a kept connection long before a gateway does (75 s)."""

STALE = "stale"
"""A client's own word for a kept connection that was closed before its request was read."""


class Caller:
    """The clients of a run. `urls` are those of the gateways, by name."""

    def __init__(
        self, urls: Mapping[str, str], keys: ClientKeys, journal: RunJournal, session: aiohttp.ClientSession
    ) -> None:
        self._urls = urls
        self._keys = keys
        self._journal = journal
        self._session = session

    @property
    def gateways(self) -> tuple[str, ...]:
        """The names of the gateways that can be called."""
        return tuple(self._urls)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the keys that can be shown."""
        return self._keys.names

    async def let_go(self) -> None:
        """Close all connections that are kept; nothing can be called after."""
        await self._session.close()

    async def make(self, question: Question) -> str:
        """Make one call, and give its outcome."""
        outcome, stale = await self._called(question, fresh=False)
        if stale:
            again = question.again(f"{question.name}s")
            outcome, _ = await self._called(again, fresh=True)
        return outcome

    async def _called(self, question: Question, *, fresh: bool) -> tuple[str, bool]:
        """Give the outcome, and whether it says only that a kept connection was closed meanwhile."""
        note = _Notes(self._journal, question.name)
        note("call_sent", **asks(question))
        answer = Answer(lambda: note("call_visible"))
        used = SimpleNamespace(again=False)
        left = await self._asked(question, answer, note, used, fresh=fresh)
        outcome = "left" if left else answer.outcome
        stale = outcome == "refused" and used.again
        ended = gets(answer) | {"outcome": outcome}
        note("call_ended", **(ended | {"code": STALE} if stale else ended))
        return outcome, stale

    async def _asked(
        self, question: Question, answer: Answer, note: "_Notes", used: SimpleNamespace, *, fresh: bool
    ) -> bool:
        """Ask, and take the answer to its end; True where the client left before it."""
        headers = question.headers(self._keys.token_of(question.key))
        if fresh:
            headers["Connection"] = "close"
        url = self._urls[question.gateway] + PATH
        try:
            async with (
                asyncio.timeout(PATIENCE_S),
                self._session.post(url, json=question.body(), headers=headers, trace_request_ctx=used) as response,
            ):
                answer.begin(response.status, response.headers)
                note("call_begun", status=answer.status, request_id=answer.headers.get("X-Request-Id", ""))
                async for piece in response.content.iter_any():
                    answer.feed(piece)
                    if question.leaves_after is not None and answer.events >= question.leaves_after:
                        note("client_left", how="fin")
                        response.close()
                        return True
                answer.end()
        except TimeoutError:
            note("client_left", how="fin")
            return True
        except (aiohttp.ClientError, OSError):
            pass  # the answer is as far as it came: no head means refused
        return False


def asks(question: Question) -> dict[str, Value]:
    """Give the members of the fact that a call was sent, besides its name."""
    return {
        "gateway": question.gateway,
        "key": question.key,
        "model": question.model,
        "route": "chat",
        "streamed": question.streamed,
        "placement": question.placement,
        "manner": question.manner,
        "once": bool(question.word),
        "word": question.word,
        "question": question.said_as,
        "odd": False,
    }


def gets(answer: Answer) -> dict[str, Value]:
    """Give the members of the fact that a call has ended, besides its name."""
    return {
        "outcome": answer.outcome,
        "status": answer.status,
        "code": answer.code,
        "message": answer.message,
        "text": answer.text,
        "events": answer.events,
        "request_id": answer.headers.get("X-Request-Id", ""),
        "attempts": answer.headers.get("X-KTMS-Attempts", ""),
        "retry_after": answer.headers.get("Retry-After", ""),
        "garbled": answer.garbled,
        "models": "|".join(answer.models),
    }


class _Notes:
    """Notes the facts of one call."""

    def __init__(self, journal: RunJournal, name: str) -> None:
        self._journal = journal
        self._name = name

    def __call__(self, kind: str, **members: Value) -> None:
        self._journal.note(kind, HOST, call=self._name, **members)


@asynccontextmanager
async def callers(urls: Mapping[str, str], keys: ClientKeys, journal: RunJournal) -> AsyncIterator[Caller]:
    """Give the clients of a run."""
    traces = aiohttp.TraceConfig()

    async def reused(
        _session: aiohttp.ClientSession, used: SimpleNamespace, _params: aiohttp.TraceConnectionReuseconnParams
    ) -> None:
        used.trace_request_ctx.again = True

    traces.on_connection_reuseconn.append(reused)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, trace_configs=[traces]) as session:
        yield Caller(urls, keys, journal, session)
