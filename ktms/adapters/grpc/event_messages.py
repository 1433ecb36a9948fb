"""Usage events to and from their messages; nothing is decided here.

Amounts that do not fit into 64 bits are sent as the most that does: no attempt costs nine million dollars, and a
vendor's nonsense must not hold up what else is in the batch.
"""

from ktms.adapters.grpc.gen import ledger_pb2
from ktms.domain.access.usage_event import AttemptStatus, BatchLine, UsageEvent
from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import (
    EventId,
    KeyId,
    ModelName,
    NodeName,
    RequestId,
    TenantName,
    VendorModel,
    VendorName,
)

INT64_MAX = (1 << 63) - 1
"""The most that a field of the protocol can say."""

STATUSES = {
    AttemptStatus.OK: ledger_pb2.ATTEMPT_STATUS_OK,
    AttemptStatus.FAILED: ledger_pb2.ATTEMPT_STATUS_FAILED,
    AttemptStatus.REFUSED: ledger_pb2.ATTEMPT_STATUS_REFUSED,
    AttemptStatus.INTERRUPTED: ledger_pb2.ATTEMPT_STATUS_INTERRUPTED,
    AttemptStatus.CANCELLED: ledger_pb2.ATTEMPT_STATUS_CANCELLED,
}
_STATUS_OF: dict[int, AttemptStatus] = {number: status for status, number in STATUSES.items()}


class MessageInvalid(Exception):
    """An event has a value that means nothing; the message names the field."""


def event_message(event: UsageEvent) -> ledger_pb2.UsageEvent:
    """Write an event."""
    usage, line, cloud = event.usage, event.batch_line, event.cloud_picos
    return ledger_pb2.UsageEvent(
        id=event.id,
        request_id=event.request_id,
        started_at_s=event.started_at,
        duration_s=event.duration_s,
        first_token_s=event.first_token_s,
        tenant=event.tenant,
        key_id=event.key_id,
        model=event.model,
        chain=event.chain,
        vendor=event.vendor,
        node=event.node,
        vendor_model=event.vendor_model,
        status=STATUSES[event.status],
        http_status=event.http_status,
        prompt_tokens=min(usage.prompt_tokens, INT64_MAX),
        completion_tokens=min(usage.completion_tokens, INT64_MAX),
        cached_tokens=min(usage.cached_tokens, INT64_MAX),
        cache_write_tokens=min(usage.cache_write_tokens, INT64_MAX),
        reasoning_tokens=min(usage.reasoning_tokens, INT64_MAX),
        estimated=usage.estimated,
        streamed=event.streamed,
        cost_picos=min(event.cost_picos, INT64_MAX),
        cloud_picos=None if cloud is None else min(cloud, INT64_MAX),
        priced=event.priced,
        uncounted=event.uncounted,
        from_cache=event.from_cache,
        batch_line=None if line is None else ledger_pb2.BatchLine(batch=line.batch, line=line.line),
    )


def event_of(message: ledger_pb2.UsageEvent) -> UsageEvent:
    """Read an event.

    Raises:
        MessageInvalid: an unknown status.
    """
    status = _STATUS_OF.get(message.status)
    if status is None:
        raise MessageInvalid("status: not a status of this release")
    has, line = message.HasField, message.batch_line
    return UsageEvent(
        id=EventId(message.id),
        request_id=RequestId(message.request_id),
        started_at=message.started_at_s,
        duration_s=message.duration_s,
        first_token_s=message.first_token_s if has("first_token_s") else None,
        tenant=TenantName(message.tenant),
        key_id=KeyId(message.key_id),
        model=ModelName(message.model),
        chain=ModelName(message.chain) if has("chain") else None,
        vendor=VendorName(message.vendor),
        node=NodeName(message.node) if has("node") else None,
        vendor_model=VendorModel(message.vendor_model),
        status=status,
        http_status=message.http_status if has("http_status") else None,
        usage=Usage(
            message.prompt_tokens,
            message.completion_tokens,
            message.cached_tokens,
            message.cache_write_tokens,
            message.reasoning_tokens,
            message.estimated,
        ),
        streamed=message.streamed,
        cost_picos=message.cost_picos,
        cloud_picos=message.cloud_picos if has("cloud_picos") else None,
        priced=message.priced,
        uncounted=message.uncounted,
        from_cache=message.from_cache,
        batch_line=BatchLine(line.batch, line.line) if has("batch_line") else None,
    )
