"""The one way to Redis for leases, waiters and the board: many ask, one connection carries it.

Rules: what is asked in one turn of the loop goes out as one pipeline, one is under way at a time; whoever asks
waits for its own timeout and no longer, and may be cancelled without disturbing others; after failures in a row
nobody waits at all (`guard.py`). What nobody waits for goes along with what is asked next, a moment later at most;
it is kept, and sent first when Redis is back.
Not here: the connection (`line.py`), what is asked (`fleet.py`, `fleet_board.py`).
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from redis.exceptions import (
    ClusterDownError,
    MovedError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from ktms.adapters.redis.alarm import Alarm
from ktms.adapters.redis.guard import SILENCE_S, Guard
from ktms.adapters.redis.keys import TRIAL
from ktms.adapters.redis.line import Line, LineBroken, Words
from ktms.adapters.redis.lua import Script, read_scripts
from ktms.adapters.redis.request import Request, Unheard
from ktms.ports.lease_store import LEASE_TTL_S, LeaseStoreAway

TIMEOUT_S = 0.1
"""What one request pays, once, when Redis hangs (FR8)."""

QUEUE_MAX = 10_000
"""Requests that wait; beyond it those who ask are told at once, and releases are left to expiry."""

PIPELINE_MAX = 1_000
"""Commands in one pipeline: a few milliseconds of Redis and of ours, so that a timeout means something."""

LINGER_S = 0.002
"""What nobody waits for goes alone after this: a round trip costs more than a call's share in one, and a slot that
comes free so much later is nothing beside an answer."""

KEEP_S = LEASE_TTL_S
"""What nobody waits for is kept so long while Redis is away; then the lease has ended by itself."""

_PASSING = (ClusterDownError, MovedError, OutOfMemoryError, ReadOnlyError, TryAgainError)
"""Refusals of a server that is the wrong one, or not ready: handled as a lost connection (FR12)."""


class RedisLink:
    """Use as `async with`: a task inside of it has the connection, and what is still to be told goes out last."""

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, silence_s: float = SILENCE_S) -> None:
        self.url = url
        self.timeout_s = timeout_s
        self.scripts = read_scripts()
        self._line = Line(url, timeout_s)
        self._guard = Guard(silence_s=silence_s)
        self._queue: deque[Request] = deque()
        self._awaited: deque[Request] = deque()
        self._alarm: Alarm | None = None
        self._wake = asyncio.Event()
        self._is_due = False
        self._linger: asyncio.TimerHandle | None = None
        self._ends = False
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._group.create_task(self._serve(), name="redis-link")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends = True
        self._wake.set()
        if self._alarm is not None:
            self._alarm.cancel()
        if self._linger is not None:
            self._linger.cancel()
        # What the block raised is not the group's: its task ends by itself, within a timeout.
        await self._group.__aexit__(None, None, None)

    @property
    def silenced(self) -> bool:
        """Whether Redis is not contacted for now."""
        return self._guard.silenced

    def ask(
        self, words: Words, *, script: Script | None = None, unheard: Unheard | None = None
    ) -> "asyncio.Future[Any]":
        """Ask; await what is given. A script's words begin with the number of its keys.

        `unheard` is called where it was sent and whoever waited did not get the answer.

        Raises:
            LeaseStoreAway: at once, or later in the future.
        """
        if self._guard.silenced:
            raise LeaseStoreAway("silenced")
        if self._ends or len(self._queue) >= QUEUE_MAX:
            raise LeaseStoreAway
        loop = asyncio.get_running_loop()
        request = Request(words, loop.time() + self.timeout_s, script, loop.create_future(), unheard)
        self._queue.append(request)
        self._awaited.append(request)
        if self._alarm is None:
            self._alarm = Alarm(request.until, self._give_up)
        self._go_on()
        assert request.answer is not None
        return request.answer

    async def ask_all(self, many: Sequence[tuple[Words, Script]]) -> list[Any]:
        """Ask several things in one pipeline and give the answers in their order.

        Raises:
            LeaseStoreAway: one of them failed.
        """
        asked: list[asyncio.Future[Any]] = []
        try:
            for words, script in many:
                asked.append(self.ask(words, script=script))
        except LeaseStoreAway:
            for answer in asked:
                answer.cancel()
            raise
        return list(await asyncio.gather(*asked))

    def tell(self, words: Words, *, script: Script | None = None, first: bool = False) -> None:
        """Say something that may be carried out twice, or never; returns at once, and it goes within LINGER_S.

        `first`: before all that waits.
        """
        if self._ends or len(self._queue) >= QUEUE_MAX:
            return
        loop = asyncio.get_running_loop()
        request = Request(words, loop.time() + KEEP_S, script)
        (self._queue.appendleft if first else self._queue.append)(request)
        if self._linger is None:
            self._linger = loop.call_later(LINGER_S, self._lingered)

    def _lingered(self) -> None:
        self._linger = None
        if self._queue:
            self._go_on()

    def _go_on(self) -> None:
        self._is_due = True
        self._wake.set()

    def _give_up(self) -> None:
        """End the waits that are over their time: all have the same, so they end in their order."""
        now, awaited = asyncio.get_running_loop().time(), self._awaited
        while awaited and (awaited[0].over or awaited[0].until <= now):
            answer = awaited.popleft().answer
            if answer is not None and not answer.done():
                answer.set_exception(LeaseStoreAway("timeout"))
        self._alarm = Alarm(awaited[0].until, self._give_up) if awaited and not self._ends else None

    async def _serve(self) -> None:
        try:
            while await self._due():
                try:
                    await self._carry()
                except Exception as error:  # noqa: BLE001 - the boundary: a mistake here must not end the gateway
                    await self._line.drop()
                    self._guard.failed(asyncio.get_running_loop().time())
                    self._refuse_waiting(_away("error", error))
        finally:
            await self._line.drop()
            self._ends = True
            self._refuse_waiting(LeaseStoreAway())

    async def _due(self) -> bool:
        """Wait until something is to be sent; False at the end."""
        loop = asyncio.get_running_loop()
        while not self._ends:
            self._wake.clear()
            trial_at = self._guard.trial_at
            if trial_at is None and self._queue and self._is_due:
                return True
            if trial_at is not None and trial_at <= loop.time():
                if not self._queue:
                    self.tell(("DEL", TRIAL))
                return True
            timer = None if trial_at is None else loop.call_at(trial_at, self._wake.set)
            await self._wake.wait()
            if timer is not None:
                timer.cancel()
        return bool(self._queue) and not self._guard.silenced

    async def _carry(self) -> None:
        """Make one round trip with what waits, or two where scripts were lost."""
        try:
            await self._line.connect()
        except LineBroken as error:
            self._guard.failed(asyncio.get_running_loop().time())
            self._refuse_waiting(_away(error.kind, error))
            return
        requests = self._next_requests()
        try:
            answers = await self._exchange(requests)
        except LineBroken as error:
            self._broke(requests, error)
        except BaseException:
            self._fail(requests, LeaseStoreAway())
            raise
        else:
            await self._judge(answers)
            self._hand_out(requests, answers)

    def _next_requests(self) -> list[Request]:
        now = asyncio.get_running_loop().time()
        requests: list[Request] = []
        while self._queue and len(requests) < PIPELINE_MAX:
            request = self._queue.popleft()
            if not request.over and (request.answer is not None or request.until > now):
                requests.append(request)
        self._is_due = bool(self._queue)
        return requests

    async def _exchange(self, requests: Sequence[Request]) -> list[Any]:
        if not requests:
            return []
        answers = await self._line.exchange([request.command() for request in requests])
        lost = [at for at, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if lost:
            # A restarted Redis has forgotten them (FR11). All are loaded, so that it has all or none: what goes
            # in one pipeline keeps its order, because whatever has one to keep is a script.
            loads = [("SCRIPT", "LOAD", script.source) for script in self.scripts.all()]
            again = await self._line.exchange([*loads, *(requests[at].command() for at in lost)])
            for at, answer in zip(lost, again[len(loads) :], strict=True):
                answers[at] = answer
        return answers

    async def _judge(self, answers: Sequence[Any]) -> None:
        passing = [answer for answer in answers if isinstance(answer, _PASSING)]
        if not passing:
            if answers:
                self._guard.succeeded()
            return
        await self._line.drop()
        for answer in passing:
            if isinstance(answer, MovedError):
                self._line.follow(answer)
        self._guard.failed(asyncio.get_running_loop().time())

    def _hand_out(self, requests: Sequence[Request], answers: Sequence[Any]) -> None:
        kept: list[Request] = []
        for request, answer in zip(requests, answers, strict=True):
            if not isinstance(answer, ResponseError):
                request.resolve(answer)
            elif request.answer is not None:
                request.refuse(_away("error", answer))
            elif isinstance(answer, _PASSING):
                kept.append(request)
        self._keep(kept)
        self._refuse_while_silenced()

    def _keep(self, requests: Sequence[Request]) -> None:
        """Send again, first, what nobody waits for."""
        self._queue.extendleft(reversed(requests))
        self._is_due = self._is_due or bool(requests)

    def _broke(self, requests: Sequence[Request], error: LineBroken) -> None:
        self._guard.failed(asyncio.get_running_loop().time())
        self._keep([request for request in requests if request.answer is None])
        self._fail(requests, _away(error.kind, error))
        self._refuse_while_silenced()

    def _fail(self, requests: Sequence[Request], away: LeaseStoreAway) -> None:
        for request in requests:
            request.fail(away)

    def _refuse_while_silenced(self) -> None:
        if self._guard.silenced:
            self._refuse_waiting(LeaseStoreAway("silenced"))

    def _refuse_waiting(self, away: LeaseStoreAway) -> None:
        """Tell those whose request was not sent; what nobody waits for stays, as long as it is of use."""
        now = asyncio.get_running_loop().time()
        for request in self._queue:
            request.refuse(away)
        self._queue = deque(request for request in self._queue if request.answer is None and request.until > now)


def _away(kind: str, cause: Exception) -> LeaseStoreAway:
    away = LeaseStoreAway(kind)
    away.__cause__ = cause
    return away
