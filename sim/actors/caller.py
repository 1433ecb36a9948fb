"""One call of a simulated client, from the request to the last byte, in the manner its draft says.

Every call ends: a client waits a little longer than the gateway may take, then it leaves. Not here: what a call
asks for (`request.py`), how bytes travel (`line.py`), when calls are made (world).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sim.actors.answer import Answer
from sim.actors.line import Line
from sim.actors.request import question_of, request_of, word_of
from sim.draft import CallDraft, Manner
from sim.journal.journal import Journal

HOST = "client"

GRACE_S = 60.0
"""What a client waits beyond the deadline of a whole call: a gateway that needs it has broken a promise (I1)."""

RETURNS_MAX_S = 120.0
"""Who is told to come back later than this gives up."""

LEAVES_BY = {Manner.LEAVES_BEFORE: "fin", Manner.LEAVES_MIDWAY: "rst", Manner.VANISHES: "vanish"}


class Clients(Protocol):
    """What a call needs of its client's machine."""

    async def open(self, call: CallDraft, *, fresh: bool) -> tuple[Line, bool]:
        """Give a way to the gateway of the call, and whether it was used before; never where it is to be fresh.

        Raises:
            OSError: nobody listens there.
        """
        ...

    def give_back(self, call: CallDraft, line: Line) -> None:
        """Take a way back whose answer was read to its end and that may serve again."""
        ...

    def gateway_of(self, call: CallDraft) -> str:
        """Give the host name of the gateway of a call."""
        ...


@dataclass(frozen=True, slots=True)
class Means:
    """What all calls of a world share. `token_of` gives the credential behind the name of a key."""

    clients: Clients
    journal: Journal
    token_of: Callable[[str], str]
    call_total_s: float
    client_stall_s: float


async def make(number: int, call: CallDraft, means: Means) -> None:
    """Make one call, again where its manner is to ask again."""
    calls_max = int(call.after) + 1 if call.manner in {Manner.RETRIES, Manner.RETURNS} else 1
    for repeat in range(calls_max):
        name = f"{number}r{repeat}" if repeat else str(number)
        made = _Call(name, call, means, fresh=False)
        outcome, stale = await made.run()
        if stale:
            made = _Call(f"{name}s", call, means, fresh=True)
            outcome, _ = await made.run()
        if outcome in {"done", "whole", "left"}:
            return
        if call.manner is Manner.RETURNS:
            if made.retry_after_s is None or made.retry_after_s > RETURNS_MAX_S:
                return
            await asyncio.sleep(made.retry_after_s)


class _Call:
    """One request and its answer."""

    def __init__(self, name: str, call: CallDraft, means: Means, *, fresh: bool) -> None:
        self._name = name
        self._call = call
        self._fresh = fresh
        self._reused = False
        self._means = means
        self._answer = Answer(self._begun, lambda: self._note("call_visible"))
        self._loop = asyncio.get_running_loop()
        self._gives_up_at = self._loop.time() + means.call_total_s + GRACE_S

    @property
    def retry_after_s(self) -> float | None:
        """When a refusal says to come back; None where it does not."""
        told = self._answer.headers.get("retry-after", "")
        return float(told) if told.isdigit() else None

    async def run(self) -> tuple[str, bool]:
        """Give the outcome, and whether it says only that a kept connection was closed meanwhile."""
        call, means = self._call, self._means
        self._note(
            "call_sent",
            gateway=means.clients.gateway_of(call),
            key=call.key,
            model=call.model,
            route=call.route,
            streamed=call.streamed,
            placement=call.placement,
            manner=call.manner.name.lower(),
            once=call.once,
            word=word_of(self._name, call),
            question=question_of(self._name, call),
            odd=bool(call.path),
        )
        outcome = await self._asked()
        answer = self._answer
        stale = outcome == "refused" and self._reused
        self._note(
            "call_ended",
            outcome=outcome,
            status=answer.status,
            code="stale" if stale else answer.code,
            message=answer.message,
            text=answer.text,
            events=answer.events,
            request_id=answer.headers.get("x-request-id", ""),
            attempts=answer.headers.get("x-ktms-attempts", ""),
            retry_after=answer.headers.get("retry-after", ""),
            garbled=answer.garbled,
            models="|".join(answer.models),
        )
        return outcome, stale

    async def _asked(self) -> str:
        means = self._means
        try:
            line, self._reused = await means.clients.open(self._call, fresh=self._fresh)
        except OSError:
            return "refused"
        request = request_of(self._name, self._call, means.token_of(self._call.key))
        line.ask(request, self._answer)
        if not await self._taken(line):
            return "left"
        if self._answer.over and self._answer.headers.get("connection") != "close":
            means.clients.give_back(self._call, line)
        return self._answer.outcome

    async def _taken(self, line: Line) -> bool:
        """Take the answer to its end; False where the client left before it."""
        call, answer = self._call, self._answer
        seen, stalled = 0, False
        leaves_at = self._gives_up_at
        if call.manner is Manner.LEAVES_BEFORE:
            leaves_at = min(leaves_at, self._loop.time() + call.after)
        while not answer.ended:
            if call.manner in {Manner.LEAVES_MIDWAY, Manner.VANISHES} and answer.events >= max(1, call.after):
                return self._left(line, LEAVES_BY[call.manner])
            if call.manner is Manner.STALLS and answer.events >= max(1, call.after) and not stalled:
                stalled = True
                await self._stall(line)
            if call.manner is Manner.SLOW and answer.events > seen:
                seen = answer.events
                await self._pause(line)
            if not await self._more(leaves_at):
                return self._left(line, LEAVES_BY.get(call.manner, "fin"))
        return True

    async def _more(self, until: float) -> bool:
        self._answer.changed.clear()
        if self._answer.ended:
            return True
        try:
            async with asyncio.timeout_at(until):
                await self._answer.changed.wait()
        except TimeoutError:
            return False
        return True

    async def _stall(self, line: Line) -> None:
        """Read nothing until a gateway must have cut us off; then see what is left."""
        line.stop_reading()
        self._note("client_stalled")
        await asyncio.sleep(self._means.client_stall_s + GRACE_S)
        line.read_on()

    async def _pause(self, line: Line) -> None:
        line.stop_reading()
        await asyncio.sleep(self._call.after)
        line.read_on()

    def _left(self, line: Line, how: str) -> bool:
        self._note("client_left", how=how)
        line.leave(how)
        return False

    def _begun(self, answer: Answer) -> None:
        self._note("call_begun", status=answer.status, request_id=answer.headers.get("x-request-id", ""))

    def _note(self, kind: str, **members: str | float | bool | None) -> None:
        self._means.journal.note(kind, HOST, call=self._name, **members)
