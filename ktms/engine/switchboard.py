"""The life of a call: admit, place, attempt until one target answers, settle.

Rules: the plan is made once, before the first attempt; each target is asked at most once; nothing is asked again
once something visible was sent; the client's leaving cancels everything at once; whatever happens, the call is
booked.
Not here: form of requests (doors), one exchange (`attempt.py`), the rules themselves (`domain/routing/`).
"""

import asyncio
from dataclasses import dataclass
from functools import partial

from ktms.domain.call import Route
from ktms.domain.errors import CallFailed, ErrorCode, Problem, problem
from ktms.domain.fault import fault_of
from ktms.domain.ids import RequestId
from ktms.domain.routing.choose import Listed, visible
from ktms.domain.snapshot import Snapshot
from ktms.engine.admit import Admission
from ktms.engine.answer_cache import CachedAnswers
from ktms.engine.budget import Budget
from ktms.engine.call import Call, Failed, Result, Streamed, Whole
from ktms.engine.current import Current
from ktms.engine.drain import Drain
from ktms.engine.loop_watch import LoopWatch
from ktms.engine.permit import Permit
from ktms.engine.place import Placed, Placer
from ktms.engine.relay import ClientStream
from ktms.engine.repeats import KeyedCalls
from ktms.engine.settings import EngineSettings
from ktms.engine.settle import Bookkeeper
from ktms.engine.trail import Trail
from ktms.engine.walk import Means, Walk
from ktms.ports.client import Client
from ktms.ports.clock import Clock
from ktms.ports.telemetry import Count, Telemetry

_NO_CONFIG = problem(ErrorCode.CONFIG_UNAVAILABLE, "The gateway has no configuration yet.", retry_after_s=2)
_DRAINING = problem(ErrorCode.DRAINING, "This replica is shutting down; ask another.", retry_after_s=1)
_OVERLOADED = problem(ErrorCode.OVERLOADED, "Too many calls at once; come back shortly.", retry_after_s=1)
_INTERNAL = problem(ErrorCode.INTERNAL_ERROR, "An internal error; it has been logged.")


@dataclass(frozen=True, slots=True)
class Parts:
    """What the switchboard is made of; `app/engine_parts.py` makes them."""

    admission: Admission
    books: Bookkeeper
    budget: Budget
    cached: CachedAnswers
    clock: Clock
    current: Current
    drain: Drain
    keyed: KeyedCalls
    loop: LoopWatch
    means: Means
    placer: Placer
    settings: EngineSettings
    telemetry: Telemetry


class Switchboard:
    """Answers calls."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def handle(self, call: Call, client: Client) -> Result:
        """Answer one call; a failure is a result, only the client's leaving is an exception."""
        parts = self._parts
        trail = Trail(call)
        result: Result | None = None
        parts.telemetry.call_started()
        task = parts.drain.entered()
        try:
            result = await self._answer(call, client, trail)
        except CallFailed as failure:
            result = self._failed(failure.problem, trail)
        except asyncio.CancelledError:
            if not parts.drain.cutting:
                raise
            task.uncancel()  # its last act is to tell its client
            result = self._failed(_DRAINING, trail)
        except Exception as error:  # noqa: BLE001 - the boundary: our mistake becomes a 500 and a line in the log
            parts.telemetry.event("error", "internal_error", **fault_of(error))
            result = self._failed(_INTERNAL, trail)
        finally:
            parts.drain.left(task)
            parts.books.call(trail, result)
        return result

    async def listing(self, token: str) -> tuple[Listed, ...]:
        """Give the models, aliases and chains that the key behind the token may use.

        Raises:
            CallFailed: the key is refused, or there is no configuration yet.
        """
        key = await self._parts.admission.admit(token)
        return visible(self._snapshot(), key)

    def refused_at_door(self, request_id: RequestId, route: Route, cause: Problem, received_at: float) -> None:
        """Book a request whose form the door refused."""
        self._parts.books.refused(request_id, route, cause, received_at)

    def _snapshot(self) -> Snapshot:
        snapshot = self._parts.current.snapshot
        if snapshot is None:
            raise CallFailed(_NO_CONFIG)
        return snapshot

    def _shed(self) -> None:
        """Refuse a call where there is too much to do: early, before anything was done for it (FG6)."""
        parts = self._parts
        if parts.drain.inflight > parts.settings.inflight_max:
            reason = "calls"
        elif parts.loop.behind:
            reason = "loop"
        else:
            return
        parts.telemetry.counted(Count.CALLS_SHED, label=reason)
        raise CallFailed(_OVERLOADED)

    async def _answer(self, call: Call, client: Client, trail: Trail) -> Result:
        parts = self._parts
        if not parts.drain.takes_calls:
            raise CallFailed(_DRAINING)
        self._shed()
        trail.key = await parts.admission.admit(call.token) if call.run is None else call.run.key
        if call.once is None:
            return await self._carried_out(trail, client)
        return await parts.keyed.answer(trail, client, partial(self._carried_out, trail))

    async def _carried_out(self, trail: Trail, client: Client) -> Result:
        parts, call = self._parts, trail.call
        assert trail.key is not None
        snapshot = self._snapshot()
        trail.prices = snapshot.prices
        placed = parts.placer.place(snapshot, call, trail.key)
        trail.decision = placed.decision
        recording = parts.cached.recording(trail, client) if call.run is None else None
        if call.body.facts.streamed:
            trail.stream = ClientStream(
                recording or client,
                parts.settings,
                parts.clock,
                lambda answering: trail.headers(parts.clock.monotonic(), answering=answering),
            )
        try:
            if recording is None:
                end = await self._within_budget(placed, trail)
            else:
                ask = partial(self._within_budget, placed, trail)
                end = await parts.cached.answer(trail, placed, recording, ask)
        finally:
            if trail.stream is not None:
                trail.stream.close()
        if isinstance(end, Whole):
            return Whole(trail.headers(parts.clock.monotonic()), end.body, end.finished)
        return self._failed(end, trail) if isinstance(end, Problem) else end

    async def _within_budget(self, placed: Placed, trail: Trail) -> Result | Problem:
        """Ask the targets with what the call may use in hand, and settle what it did use."""
        parts, call = self._parts, trail.call
        begins_at = call.received_at if call.run is None else max(call.received_at, call.run.ends_at)
        deadline = begins_at + parts.settings.call_total_s
        async with Permit(parts.budget, trail, placed) as permit:
            end = await Walk(parts.means, placed, trail, deadline, permit).run()
            await permit.before_waiting()  # who is over a limit hears that first, also where nobody can be asked
            return end

    def _failed(self, cause: Problem, trail: Trail) -> Result:
        """End a call that got no answer: by a status, or by an error event where the stream has begun."""
        if trail.stream is not None and trail.stream.begun:
            trail.stream.fail(cause)
            return Streamed(cause)
        return Failed(trail.headers(self._parts.clock.monotonic()), cause)
