"""One usage event per attempt: what the accounting service is told. No content, ever."""

from dataclasses import dataclass
from enum import StrEnum

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


class AttemptStatus(StrEnum):
    """How one attempt ended."""

    OK = "ok"
    FAILED = "failed"  # the vendor's or the network's fault
    REFUSED = "refused"  # the vendor's 4xx: the client's to see
    INTERRUPTED = "interrupted"  # broke or stalled after the first visible event
    CANCELLED = "cancelled"  # the client left


@dataclass(frozen=True, slots=True)
class BatchLine:
    """The line of a batch that an attempt was made for; lines count from 1."""

    batch: str
    line: int


@dataclass(slots=True)
class UsageEvent:
    """One attempt, settled. `started_at` is wall seconds since 1970; durations are seconds.

    `cost_picos` is exact, in pico-dollars; `cloud_picos` is what the model's first cloud target would have cost
    for the same tokens (None: no such price); `priced`: the target had a price. `uncounted`: a limit could not be
    counted when the call began (FR1, FR2). `from_cache`: the answer was kept, nobody was asked.
    Nobody changes one; it is not frozen because one is made per attempt, and frozen ones cost twice as much.
    """

    id: EventId
    request_id: RequestId
    started_at: float
    duration_s: float
    first_token_s: float | None
    tenant: TenantName
    key_id: KeyId
    model: ModelName
    chain: ModelName | None
    vendor: VendorName
    node: NodeName | None
    vendor_model: VendorModel
    status: AttemptStatus
    http_status: int | None
    usage: Usage
    streamed: bool
    cost_picos: int = 0
    cloud_picos: int | None = None
    priced: bool = False
    uncounted: bool = False
    from_cache: bool = False
    batch_line: BatchLine | None = None
