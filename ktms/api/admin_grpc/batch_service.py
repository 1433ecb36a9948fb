"""What the methods about batches do: ask a port, write the answer. Content is no operator's to see.

Not here: roles (`rights.py`), statuses and deadlines (`door.py`).
"""

from collections.abc import Mapping

from ktms.api.admin_grpc.gen import admin_pb2
from ktms.api.admin_grpc.messages import NANOS_PER_S
from ktms.api.admin_grpc.method import Method, NotFound, method
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import Batch
from ktms.domain.batch.names import BatchId, read_batch_id
from ktms.ports.batch_store import BatchStore

PAGE_SIZE = 100
PAGE_SIZE_MAX = 500
"""Lines of batches under way are counted for each."""

PREFIX = "/v1"


class BatchService:
    """The methods, over the port."""

    def __init__(self, batches: BatchStore) -> None:
        self._batches = batches

    def methods(self) -> Mapping[str, Method]:
        """Give the methods by the names of the protocol."""
        return {
            "ListBatches": method(admin_pb2.ListBatchesRequest, self.list_batches),
            "GetBatch": method(admin_pb2.GetBatchRequest, self.get_batch),
            "CancelBatch": method(admin_pb2.CancelBatchRequest, self.cancel_batch),
        }

    async def list_batches(
        self, request: admin_pb2.ListBatchesRequest, _actor: Actor
    ) -> admin_pb2.ListBatchesResponse:
        """Give one page of batches; the token of a page is the id of the last one before it."""
        size = min(request.page_size if request.page_size > 0 else PAGE_SIZE, PAGE_SIZE_MAX)
        after = _named(request.page_token) if request.page_token else None
        found = await self._batches.list(None, size + 1, after)
        page = found[:size]
        return admin_pb2.ListBatchesResponse(
            batches=[batch_message(batch) for batch in page],
            next_page_token=page[-1].id if len(found) > size else "",
        )

    async def get_batch(self, request: admin_pb2.GetBatchRequest, _actor: Actor) -> admin_pb2.GetBatchResponse:
        """Give one batch."""
        found = await self._batches.find(_named(request.id), None)
        if found is None:
            raise _unknown()
        return admin_pb2.GetBatchResponse(batch=batch_message(found))

    async def cancel_batch(
        self, request: admin_pb2.CancelBatchRequest, actor: Actor
    ) -> admin_pb2.CancelBatchResponse:
        """Cancel a batch."""
        found = await self._batches.cancel(_named(request.id), actor)
        if found is None:
            raise _unknown()
        return admin_pb2.CancelBatchResponse(batch=batch_message(found))


def batch_message(batch: Batch) -> admin_pb2.Batch:
    """Write a batch."""
    times = batch.times
    message = admin_pb2.Batch(
        id=batch.id,
        key_id=batch.owner,
        tenant=batch.tenant,
        state=batch.state.value,
        route=f"{PREFIX}{batch.route.value}",
        total=batch.total,
        completed=batch.completed,
        failed=batch.failed,
        complaints=[complaint.message for complaint in batch.complaints],
    )
    message.created_at.FromNanoseconds(round(times.created_at * NANOS_PER_S))
    message.expires_at.FromNanoseconds(round(times.expires_at * NANOS_PER_S))
    ended = [at for at in (times.completed_at, times.failed_at, times.expired_at, times.cancelled_at) if at]
    if ended:
        message.ended_at.FromNanoseconds(round(ended[0] * NANOS_PER_S))
    return message


def _named(text: str) -> BatchId:
    name = read_batch_id(text)
    if name is None:
        raise _unknown()
    return name


def _unknown() -> NotFound:
    return NotFound("no batch has this id (ktms admin batches list)")
