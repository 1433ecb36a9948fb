"""Calls that carry an Idempotency-Key: carried out once, and answered again as they were answered first.

Rules: nothing is started before the store has said that this call is the first of its key (FP5); one that came to
nothing gives its key up, also where its client left; a complete answer is kept before its client can count on it,
and where the store does not take it the client gets it all the same. What is owed to the store at the end of a
call outlives the call: `run` sees to it beside the calls, again and again for a while.
Not here: the keys' scope and time (port Repeats), the form of the header (doors).
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from ktms.dialects.openai_chat.canonical import digest_of
from ktms.dialects.openai_chat.kept import KeptAnswer, read_kept, write_kept
from ktms.dialects.openai_chat.request import is_heavy
from ktms.dialects.openai_chat.stream import DONE
from ktms.domain.access.client_key import ClientKey
from ktms.domain.errors import CallFailed, ErrorCode, problem
from ktms.domain.units import MS_PER_S
from ktms.engine.call import Call, Result, Streamed, Whole
from ktms.engine.lasting import run_lasting
from ktms.engine.recording import Recording
from ktms.engine.trail import Trail
from ktms.ports.catalogue import StoreAway
from ktms.ports.client import Client
from ktms.ports.clock import Clock
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.lease_store import LeaseStoreAway
from ktms.ports.repeats import Begun, Kept, OtherBody, Repeatable, Repeats, Running
from ktms.ports.telemetry import Dependency, Telemetry

ANSWER_BYTES_MAX = 8 * 1024 * 1024
"""A larger answer is not kept, only that there was one: a row of Postgres is no place for it."""

OWED_MAX = 1_000
"""Ends of calls that wait for the store; beyond it a key stays taken until its time is over."""

OWED_BYTES_MAX = 64 * 1024 * 1024
"""Answers that wait for the store; beyond it is kept only that there was one."""

AT_ONCE_MAX = 4
"""Connections that ends of calls may take of the pool."""

OWED_S = 30.0
"""A failover takes less; after that the key is free, or answers, when the store says so."""

PAUSE_S = 2.0
"""Between attempts to tell a store that is away."""

END_WAIT_S = 3.0
"""What a client waits at most for its answer to be kept: one operation of the store."""

RETRY_S = 2.0
"""When to ask again for a call that is under way, or for a store that is away."""

SWEEP_S = 60.0
"""Rows whose time is over are removed this often, by one replica."""

SWEEP_DUTY = "forget_repeats"

_RUNNING = problem(
    ErrorCode.IDEMPOTENCY_CONFLICT,
    "A call with this Idempotency-Key is under way; its answer can be had when it has ended.",
    param="Idempotency-Key",
    retry_after_s=RETRY_S,
)
_LOST = problem(
    ErrorCode.IDEMPOTENCY_CONFLICT,
    "The call with this Idempotency-Key was answered, and its answer was too large to be kept.",
    param="Idempotency-Key",
)
_OTHER_BODY = replace(
    problem(
        ErrorCode.IDEMPOTENCY_CONFLICT,
        "This Idempotency-Key was used for another request; nothing was started.",
        param="Idempotency-Key",
    ),
    status=422,
)
_AWAY = problem(
    ErrorCode.IDEMPOTENCY_UNAVAILABLE,
    "Whether this is a repeat cannot be told right now; nothing was started.",
    param="Idempotency-Key",
    retry_after_s=RETRY_S,
)


@dataclass(frozen=True, slots=True)
class RepeatMeans:
    """What telling repeats takes. `runs_s`: no call runs longer, its client's last pause included."""

    repeats: Repeats
    board: FleetBoard
    clock: Clock
    telemetry: Telemetry
    runs_s: float


@dataclass(slots=True, eq=False)
class _Owed:
    """What the store is to be told of a call: its answer, or (`kept` False) that its key is free again."""

    call: Repeatable
    kept: bool
    answer: bytes | None
    until: float
    told: "asyncio.Future[None]"


class KeyedCalls:
    """Answers calls that carry a key of their client's."""

    def __init__(self, means: RepeatMeans) -> None:
        self._means = means
        self._owed: asyncio.Queue[_Owed] = asyncio.Queue(OWED_MAX)
        self._owed_bytes = 0

    async def answer(self, trail: Trail, client: Client, ask: Callable[[Client], Awaitable[Result]]) -> Result:
        """Answer a call as its first one was, or carry it out by `ask`.

        Raises:
            CallFailed: 409 while it runs, 422 for another body, 503 where nobody can tell; and what `ask` raises.
        """
        assert trail.key is not None
        call = await self._repeatable(trail.call, trail.key)
        kept = await self._begin(call)
        if kept is not None:
            return _again(kept, trail, client, self._means.clock)
        recording = Recording(client, ANSWER_BYTES_MAX)
        result, here = None, True
        try:
            result = await ask(recording)
        except asyncio.CancelledError:
            here = False
            raise
        finally:
            told = self._owe(call, recording, result, trail)
            if here:
                await asyncio.wait((told,), timeout=END_WAIT_S)
        return result

    async def run(self) -> None:
        """Tell the store what is owed, and remove what is over, until cancelled."""
        loops = {f"end-keyed-calls-{nth}": self._pay for nth in range(1, AT_ONCE_MAX + 1)}
        await run_lasting(loops | {"forget-repeats": self._sweep}, self._means.telemetry)

    async def _repeatable(self, call: Call, key: ClientKey) -> Repeatable:
        assert call.once is not None
        parts = (call.route.value.encode(), call.body.raw)
        if is_heavy(call.body.raw):
            digest = await asyncio.get_running_loop().run_in_executor(None, digest_of, parts)
        else:
            digest = digest_of(parts)
        return Repeatable(key.id, call.once, digest, call.request_id, self._means.runs_s)

    async def _begin(self, call: Repeatable) -> KeptAnswer | None:
        """Begin, or give what was answered.

        Raises:
            CallFailed: it may not begin.
        """
        try:
            found = await self._means.repeats.begin(call)
        except StoreAway as away:
            self._failed("begin_call", away)
            self._give_up(call)  # whether it has begun is not known
            raise CallFailed(_AWAY) from away
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        match found:
            case Begun():
                return None
            case Running():
                raise CallFailed(_RUNNING)
            case OtherBody():
                raise CallFailed(_OTHER_BODY)
            case Kept(_, raw):
                answer = None if raw is None else read_kept(raw)
                if answer is None:
                    raise CallFailed(_LOST)
                return answer

    def _give_up(self, call: Repeatable) -> None:
        _ = self._enqueue(call, kept=False, answer=None)  # nobody waits for it

    def _owe(
        self, call: Repeatable, recording: Recording, result: Result | None, trail: Trail
    ) -> "asyncio.Future[None]":
        answer = recording.answer(result, trail)
        too_large = isinstance(result, Whole) or (recording.complete and recording.too_large)
        raw = None if answer is None or len(answer.body) > ANSWER_BYTES_MAX else write_kept(answer)
        return self._enqueue(call, kept=answer is not None or too_large, answer=raw)

    def _enqueue(self, call: Repeatable, *, kept: bool, answer: bytes | None) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        told: asyncio.Future[None] = loop.create_future()
        size = len(answer or b"")
        if self._owed_bytes + size > OWED_BYTES_MAX:
            answer, size = None, 0
        try:
            self._owed.put_nowait(_Owed(call, kept, answer, loop.time() + OWED_S, told))
            self._owed_bytes += size
        except asyncio.QueueFull:
            self._failed("end_call", StoreAway("too many calls wait for the store"))
            told.set_result(None)
        return told

    async def _pay(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            owed = await self._owed.get()
            try:
                told = await self._tell(owed)
                while not told and loop.time() + PAUSE_S < owed.until:
                    await asyncio.sleep(PAUSE_S)
                    told = await self._tell(owed)
            finally:
                self._owed_bytes -= len(owed.answer or b"")

    async def _tell(self, owed: _Owed) -> bool:
        """Tell the store one thing; False when it did not hear it."""
        try:
            if owed.kept:
                await self._means.repeats.keep(owed.call, owed.answer)
            else:
                await self._means.repeats.give_up(owed.call)
        except StoreAway as away:
            self._failed("end_call", away)
            return False
        finally:
            if not owed.told.done():
                owed.told.set_result(None)
        return True

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            try:
                if await self._means.board.claim(SWEEP_DUTY, SWEEP_S):
                    while await self._means.repeats.forget_old():
                        pass
            except LeaseStoreAway:
                continue  # who has the duty is not known: the next minute will do
            except StoreAway as away:
                self._failed("forget_repeats", away)

    def _failed(self, operation: str, away: StoreAway) -> None:
        kind = "timeout" if isinstance(away.__cause__, TimeoutError) else "away"
        self._means.telemetry.dependency_failed(Dependency.POSTGRES, operation, kind)


def _again(kept: KeptAnswer, trail: Trail, client: Client, clock: Clock) -> Result:
    """Give the first answer once more, byte for byte."""
    trail.replayed = True
    gateway_ms = (clock.monotonic() - trail.call.received_at) * MS_PER_S
    headers = (
        ("X-Request-Id", trail.call.request_id),
        *kept.headers,
        ("Idempotency-Replayed", "true"),
        ("Server-Timing", f"gateway;dur={gateway_ms:.2f}"),
    )
    if not kept.streamed:
        return Whole(headers, kept.body)
    client.begin(headers)
    client.write(kept.body + DONE)
    client.end()
    return Streamed()
