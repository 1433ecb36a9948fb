"""Booking: one usage event per attempt with what it cost, one record per call. Amounts only, never content.

Not here: prices (`domain/costing.py`), limits.
"""

from collections.abc import Callable
from dataclasses import replace

from ktms.dialects.openai_chat.kept import KeptAnswer
from ktms.domain.access.pricing import micros_up
from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.batch.names import event_of_line
from ktms.domain.call import CallFacts, Route
from ktms.domain.conversation.usage import NO_USAGE, Usage
from ktms.domain.costing import cost_of, first_cloud
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import CACHE, RequestId, VendorModel
from ktms.engine.call import Failed, LineRun, Result, Streamed
from ktms.engine.ids import Identities
from ktms.engine.outbox import Outbox
from ktms.engine.shot import Shot, Target
from ktms.engine.trail import Trail
from ktms.ports.clock import Clock
from ktms.ports.telemetry import CallRecord, Telemetry

BYTES_PER_TOKEN = 4
"""Estimates never use a tokenizer on the hot path (docs/api.md, Usage)."""

TOKENS_PER_IMAGE = 1000
"""Flat estimate of one image."""

CLIENT_LEFT = 499
"""Status on the access line of a call whose client left; nginx made it the custom."""


VENDORS_CODE = "vendors_own"
"""Stands on the access line for a code that is none of ours: a vendor may repeat there what it was sent."""

_OURS = frozenset(code.value for code in ErrorCode)


def estimate(facts: CallFacts, *, visible_events: int, content_bytes: int) -> Usage:
    """Estimate the tokens of an answer whose vendor gave none; a cut answer counts what was delivered."""
    prompt = facts.text_bytes // BYTES_PER_TOKEN + facts.images * TOKENS_PER_IMAGE
    completion = max(visible_events, content_bytes // BYTES_PER_TOKEN)
    return Usage(prompt_tokens=prompt, completion_tokens=completion, estimated=True)


def usage_of(shot: Shot, facts: CallFacts) -> Usage:
    """Give what an attempt is booked with: the vendor's own counts, else an estimate of what was delivered.

    An attempt that failed before the client got anything costs nothing (P33). One whose client left had its prompt
    sent: it is counted, or leaving early would be a way around every budget. A stream that showed something and
    tells of no completion has not counted yet, as before a cut, or never does.
    """
    told = shot.told
    if told is not None and (told.completion_tokens or not shot.visible_events):
        return told
    if told is None and shot.status in _NOTHING_DELIVERED:
        return NO_USAGE
    guess = estimate(facts, visible_events=shot.visible_events, content_bytes=shot.content_bytes)
    if told is None or not told.prompt_tokens:
        return guess
    return replace(told, completion_tokens=guess.completion_tokens, estimated=True)


_NOTHING_DELIVERED = frozenset({AttemptStatus.FAILED, AttemptStatus.REFUSED})

LEAST_TOKENS = 1
"""What an attempt that the vendor carried out counts at least: who uses nothing gets the request back too."""


def _used_tokens(shot: Shot, usage: Usage) -> int:
    """Give what limits count of an attempt; only one that failed by no fault of the client's may be for nothing.

    Leaving early, or sending what the vendor refuses, would else be a way around every limit of requests.
    """
    return usage.tokens if shot.status is AttemptStatus.FAILED else max(usage.tokens, LEAST_TOKENS)


class Bookkeeper:
    """Hands usage events to the outbox and call records to telemetry."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        telemetry: Telemetry,
        clock: Clock,
        identities: Identities,
        status_of: Callable[[Problem], int],
    ) -> None:
        self._outbox = outbox
        self._telemetry = telemetry
        self._clock = clock
        self._identities = identities
        self._status_of = status_of

    def attempt(self, trail: Trail, target: Target, shot: Shot, ended_at: float) -> None:
        """Book one attempt."""
        assert trail.key is not None
        assert trail.model is not None
        assert trail.decision is not None
        usage = usage_of(shot, trail.call.body.facts)
        duration_s = ended_at - shot.began_at
        started_at = self._clock.wall() - duration_s
        cloud = first_cloud(trail.model, trail.decision.models)
        cost = cost_of(trail.prices, usage, (target.vendor, target.vendor_model), cloud, started_at)
        trail.usage = usage
        trail.prompt_tokens, trail.completion_tokens = usage.prompt_tokens, usage.completion_tokens
        trail.used_tokens += _used_tokens(shot, usage)
        trail.used_picos += cost.picos
        if shot.status is AttemptStatus.CANCELLED:
            word = "cancelled"
        else:
            word = "ok" if shot.verdict is None else shot.verdict.word
        trail.note(target.vendor, target.node, word)
        first_token_s = None if shot.first_token_at is None else shot.first_token_at - shot.began_at
        event = UsageEvent(
            id=self._identities.event(),
            request_id=trail.call.request_id,
            started_at=started_at,
            duration_s=duration_s,
            first_token_s=first_token_s,
            tenant=trail.key.tenant,
            key_id=trail.key.id,
            model=trail.model.name,
            chain=trail.decision.chain,
            vendor=target.vendor,
            node=target.node,
            vendor_model=target.vendor_model,
            status=shot.status,
            http_status=shot.http_status,
            usage=usage,
            streamed=trail.call.body.facts.streamed,
            cost_picos=cost.picos,
            cloud_picos=cost.cloud_picos,
            priced=cost.priced,
            uncounted=trail.uncounted,
        )
        self._book(trail, event)

    def hit(self, trail: Trail, kept: KeptAnswer) -> None:
        """Book an answer that is given again: its tokens cost nothing, and would have in the cloud."""
        assert trail.key is not None
        assert trail.model is not None
        assert trail.decision is not None
        trail.usage, trail.vendor = kept.usage, CACHE
        trail.note(CACHE, None, "hit")
        wall = self._clock.wall()
        name, cloud = VendorModel(trail.model.name), first_cloud(trail.model, trail.decision.models)
        cost = cost_of(trail.prices, kept.usage, (CACHE, name), cloud, wall)
        event = UsageEvent(
            id=self._identities.event(),
            request_id=trail.call.request_id,
            started_at=wall,
            duration_s=0.0,
            first_token_s=None,
            tenant=trail.key.tenant,
            key_id=trail.key.id,
            model=trail.model.name,
            chain=trail.decision.chain,
            vendor=CACHE,
            node=None,
            vendor_model=name,
            status=AttemptStatus.OK,
            http_status=None,
            usage=kept.usage,
            streamed=kept.streamed,
            cost_picos=0,
            cloud_picos=cost.cloud_picos,
            priced=True,
            uncounted=trail.uncounted,
            from_cache=True,
        )
        self._book(trail, event)

    def _book(self, trail: Trail, event: UsageEvent) -> None:
        """Hand an event on; one of a line of a batch is booked together with its result."""
        if trail.call.run is None:
            self._outbox.record(event)
        elif event.status is not AttemptStatus.CANCELLED:
            trail.call.run.event = _of_line(trail.call.run, event)

    def call(self, trail: Trail, result: Result | None) -> None:
        """Book one call; no result means that its client left."""
        cause = _problem_of(result)
        cancelled = trail.cancelled or result is None
        status = CLIENT_LEFT if cancelled else 200
        if cause is not None:
            status = 200 if isinstance(result, Streamed) else self._status_of(cause)
        self._telemetry.call_ended(self._record(trail, status, cause, cancelled=cancelled))

    def refused(self, request_id: RequestId, route: Route, cause: Problem, received_at: float) -> None:
        """Book a request whose form was refused before it became a call."""
        record = CallRecord(
            request_id=request_id,
            route=route.value,
            status=self._status_of(cause),
            code=cause.code,
            total_s=self._clock.monotonic() - received_at,
        )
        self._telemetry.call_started()
        self._telemetry.call_ended(record)

    def _record(self, trail: Trail, status: int, cause: Problem | None, *, cancelled: bool) -> CallRecord:
        call, key, decision = trail.call, trail.key, trail.decision
        received_at = call.received_at
        first_token_s = None if trail.first_token_at is None else trail.first_token_at - received_at
        return CallRecord(
            request_id=call.request_id,
            route=call.route.value,
            status=status,
            code=None if cause is None else _code(cause),
            key_id=None if key is None else key.id,
            tenant=None if key is None else key.tenant,
            model=None if trail.model is None else trail.model.name,
            chain=None if decision is None else decision.chain,
            vendor=trail.vendor,
            node=trail.node,
            placement=None if decision is None else decision.placement.value,
            streamed=call.body.facts.streamed,
            attempts=tuple(trail.attempts),
            total_s=self._clock.monotonic() - received_at,
            upstream_s=trail.upstream_s,
            queue_s=trail.queue_s,
            forecast_s=trail.forecast_s,
            first_token_s=first_token_s,
            prompt_tokens=trail.prompt_tokens,
            completion_tokens=trail.completion_tokens,
            cost_micros=micros_up(trail.used_picos),
            cancelled=cancelled,
            cache=trail.cache,
            batch=None if call.run is None else call.run.line.batch,
            replayed=trail.replayed,
        )


def _of_line(run: LineRun, event: UsageEvent) -> UsageEvent | None:
    """Give the one event of a line so far: attempts that used nothing leave none, those that did add up."""
    before, usage = run.event, event.usage
    if not usage.tokens and not event.cost_picos:
        return before
    if before is None:
        return replace(event, id=event_of_line(run.line), batch_line=run.line)
    clouds = [picos for picos in (before.cloud_picos, event.cloud_picos) if picos is not None]
    return replace(
        event,
        id=before.id,
        batch_line=run.line,
        usage=before.usage.plus(usage),
        cost_picos=before.cost_picos + event.cost_picos,
        cloud_picos=sum(clouds) if clouds else None,
    )


def _code(cause: Problem) -> str:
    return cause.code if cause.code in _OURS else VENDORS_CODE


def _problem_of(result: Result | None) -> Problem | None:
    return result.problem if isinstance(result, Failed | Streamed) else None
