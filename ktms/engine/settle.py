"""Booking: one usage event per attempt, one record per call. Amounts only, never content.

Not here: prices and limits; they come with the accounting service.
"""

from collections.abc import Callable

from ktms.domain.access.usage_event import AttemptStatus, UsageEvent
from ktms.domain.call import CallFacts, Route
from ktms.domain.conversation.usage import NO_USAGE, Usage
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import RequestId
from ktms.engine.call import Failed, Result, Streamed
from ktms.engine.ids import Identities
from ktms.engine.shot import Shot, Target
from ktms.engine.trail import Trail
from ktms.ports.clock import Clock
from ktms.ports.ledger import Ledger
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
    sent: it is counted, or leaving early would be a way around every budget.
    """
    if shot.told is not None:
        return shot.told
    if shot.status in _NOTHING_DELIVERED:
        return NO_USAGE
    return estimate(facts, visible_events=shot.visible_events, content_bytes=shot.content_bytes)


_NOTHING_DELIVERED = frozenset({AttemptStatus.FAILED, AttemptStatus.REFUSED})


class Bookkeeper:
    """Hands usage events to the ledger and call records to telemetry."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        telemetry: Telemetry,
        clock: Clock,
        identities: Identities,
        status_of: Callable[[Problem], int],
    ) -> None:
        self._ledger = ledger
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
        trail.prompt_tokens, trail.completion_tokens = usage.prompt_tokens, usage.completion_tokens
        if shot.status is AttemptStatus.CANCELLED:
            word = "cancelled"
        else:
            word = "ok" if shot.verdict is None else shot.verdict.word
        trail.note(target.vendor, target.node, word)
        first_token_s = None if shot.first_token_at is None else shot.first_token_at - shot.began_at
        duration_s = ended_at - shot.began_at
        event = UsageEvent(
            id=self._identities.event(),
            request_id=trail.call.request_id,
            started_at=self._clock.wall() - duration_s,
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
        )
        self._ledger.record(event)

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
            cancelled=cancelled,
        )


def _code(cause: Problem) -> str:
    return cause.code if cause.code in _OURS else VENDORS_CODE


def _problem_of(result: Result | None) -> Problem | None:
    return result.problem if isinstance(result, Failed | Streamed) else None
