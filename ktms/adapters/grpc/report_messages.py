"""Questions about usage and their answers, to and from messages; nothing is decided here."""

from ktms.adapters.grpc.event_messages import INT64_MAX, MessageInvalid
from ktms.adapters.grpc.gen import ledger_pb2
from ktms.domain.access.quota import Spent
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow

DIMENSIONS = {
    Dimension.DAY: ledger_pb2.USAGE_DIMENSION_DAY,
    Dimension.TENANT: ledger_pb2.USAGE_DIMENSION_TENANT,
    Dimension.KEY: ledger_pb2.USAGE_DIMENSION_KEY,
    Dimension.MODEL: ledger_pb2.USAGE_DIMENSION_MODEL,
    Dimension.VENDOR: ledger_pb2.USAGE_DIMENSION_VENDOR,
    Dimension.NODE: ledger_pb2.USAGE_DIMENSION_NODE,
}
_DIMENSION_OF: dict[int, Dimension] = {number: dimension for dimension, number in DIMENSIONS.items()}


def query_message(query: UsageQuery) -> ledger_pb2.GetUsageRequest:
    """Write a question."""
    return ledger_pb2.GetUsageRequest(
        from_day=query.from_day,
        until_day=query.until_day,
        by=[DIMENSIONS[dimension] for dimension in query.by],
        tenant=query.tenant,
        key_id=query.key_id,
        model=query.model,
        vendor=query.vendor,
    )


def query_of(message: ledger_pb2.GetUsageRequest) -> UsageQuery:
    """Read a question.

    Raises:
        MessageInvalid: an unknown dimension, or one that comes twice.
    """
    by = tuple(_DIMENSION_OF[number] for number in message.by if number in _DIMENSION_OF)
    if len(set(by)) < len(message.by):
        raise MessageInvalid("by: each dimension once, of those this release knows")
    has = message.HasField
    return UsageQuery(
        message.from_day,
        message.until_day,
        by,
        tenant=message.tenant if has("tenant") else None,
        key_id=message.key_id if has("key_id") else None,
        model=message.model if has("model") else None,
        vendor=message.vendor if has("vendor") else None,
    )


def row_message(row: UsageRow) -> ledger_pb2.UsageRow:
    """Write a row."""
    return ledger_pb2.UsageRow(
        group=row.group,
        attempts=row.attempts,
        failed=row.failed,
        prompt_tokens=row.prompt_tokens,
        cached_tokens=row.cached_tokens,
        cache_write_tokens=row.cache_write_tokens,
        completion_tokens=row.completion_tokens,
        reasoning_tokens=row.reasoning_tokens,
        estimated=row.estimated,
        cost_picos=str(row.cost_picos),
        saved_picos=str(row.saved_picos),
    )


def row_of(message: ledger_pb2.UsageRow) -> UsageRow:
    """Read a row."""
    return UsageRow(
        tuple(message.group),
        message.attempts,
        message.failed,
        message.prompt_tokens,
        message.cached_tokens,
        message.cache_write_tokens,
        message.completion_tokens,
        message.reasoning_tokens,
        message.estimated,
        int(message.cost_picos),
        int(message.saved_picos),
    )


def spent_message(spent: Spent) -> ledger_pb2.Spent:
    """Write what an account has spent."""
    return ledger_pb2.Spent(
        account=spent.account,
        day=spent.day,
        month=spent.month,
        day_micros=min(spent.day_micros, INT64_MAX),
        month_micros=min(spent.month_micros, INT64_MAX),
    )


def spent_of(message: ledger_pb2.Spent) -> Spent:
    """Read what an account has spent."""
    return Spent(message.account, message.day, message.month, message.day_micros, message.month_micros)
