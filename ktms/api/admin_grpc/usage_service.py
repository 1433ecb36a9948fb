"""What the method about usage does: read the question, ask the ledger, write the answer.

Not here: roles (`rights.py`), statuses and deadlines (`door.py`), sums (the ledger's).
"""

from collections.abc import Mapping

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import MessageInvalid
from ktms.api.admin_grpc.method import Method, method
from ktms.domain.access.actor import Actor
from ktms.domain.access.usage_report import Dimension, UsageQuery, UsageRow
from ktms.ports.usage_reports import UsageReports

DIMENSIONS = {
    Dimension.DAY: admin_pb2.USAGE_DIMENSION_DAY,
    Dimension.TENANT: admin_pb2.USAGE_DIMENSION_TENANT,
    Dimension.KEY: admin_pb2.USAGE_DIMENSION_KEY,
    Dimension.MODEL: admin_pb2.USAGE_DIMENSION_MODEL,
    Dimension.VENDOR: admin_pb2.USAGE_DIMENSION_VENDOR,
    Dimension.NODE: admin_pb2.USAGE_DIMENSION_NODE,
}
_DIMENSION_OF: dict[int, Dimension] = {number: dimension for dimension, number in DIMENSIONS.items()}


class UsageService:
    """The method, over the port."""

    def __init__(self, reports: UsageReports) -> None:
        self._reports = reports

    def methods(self) -> Mapping[str, Method]:
        """Give the method by the name of the protocol."""
        return {"GetUsage": method(admin_pb2.GetUsageRequest, self.get_usage)}

    async def get_usage(self, request: admin_pb2.GetUsageRequest, _actor: Actor) -> admin_pb2.GetUsageResponse:
        """Give sums."""
        rows = await self._reports.usage(_query_of(request))
        return admin_pb2.GetUsageResponse(rows=[_row_message(row) for row in rows])


def _query_of(request: admin_pb2.GetUsageRequest) -> UsageQuery:
    by = tuple(_DIMENSION_OF[number] for number in request.by if number in _DIMENSION_OF)
    if len(set(by)) < len(request.by):
        raise MessageInvalid("by: each dimension once, of those that there are")
    if not 0 <= request.from_day <= request.until_day:
        raise MessageInvalid("from_day, until_day: days since 1970, the first before the last")
    has = request.HasField
    return UsageQuery(
        request.from_day,
        request.until_day,
        by,
        tenant=request.tenant if has("tenant") else None,
        key_id=request.key_id if has("key_id") else None,
        model=request.model if has("model") else None,
        vendor=request.vendor if has("vendor") else None,
    )


def _row_message(row: UsageRow) -> admin_pb2.UsageRow:
    return admin_pb2.UsageRow(
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
