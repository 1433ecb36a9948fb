"""What the gateway tells its operators. Never content, never a secret."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ktms.domain.ids import KeyId, ModelName, NodeName, RequestId, TenantName, VendorName


class Dependency(StrEnum):
    """What the gateway leans on."""

    POSTGRES = "postgres"
    REDIS = "redis"
    LEDGER = "ledger"
    VENDOR = "vendor"
    NODE = "node"


class Gauge(StrEnum):
    """Values of the moment, each with one label value (empty where there is nothing to tell apart)."""

    DEPENDENCY_UP = "dependency_up"  # label: dependency; 1 or 0
    BREAKER_STATE = "breaker_state"  # label: vendor; 0 closed, 1 half open, 2 open
    SNAPSHOT_VERSION = "snapshot_version"
    SNAPSHOT_AGE_S = "snapshot_age_s"
    SNAPSHOT_SAVED_AT = "snapshot_saved_at"  # wall seconds since 1970
    NODE_SLOTS_BUSY = "node_slots_busy"  # label: node
    NODE_ENGINE_CALLS = "node_engine_calls"  # label: node; as its engine says, NaN where that is no longer known
    NODE_KV_USED = "node_kv_used"  # label: node; share of its cache, as its engine says; NaN as above
    NODE_HEALTH = "node_health"  # label: node; 0 healthy, 1 suspect, 2 down, 3 refuses our token
    QUEUE_WAITING = "queue_waiting"  # label: model; waiters of all replicas
    QUEUE_FORECAST_ERROR = "queue_forecast_error"  # label: model; mean of |forecast - actual| / actual
    LOOP_LAG_S = "loop_lag_s"  # how late the last look at the loop came; shown is the worst since the last scrape
    BATCH_LINES_WAITING = "batch_lines_waiting"  # of all batches
    USAGE_WAITING = "usage_waiting"  # usage events that the ledger does not have yet


class Count(StrEnum):
    """What is counted besides calls, attempts and errors."""

    BATCH_LINES = "batch_lines"  # label: result; done, failed, expired, again (run once more), lost
    SNAPSHOT_SAVES = "snapshot_saves"  # label: result; saved, failed
    USAGE_DROPPED = "usage_dropped"  # usage events that no ledger will ever have
    LOOP_BLOCKED = "loop_blocked"  # stalls of the event loop
    LOOPS_FAILED = "loops_failed"  # label: loop; a mistake of ours ended one, and it was begun again
    CALLS_SHED = "calls_shed"  # label: reason; calls, loop, connections


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt, for the metrics per target. `result` is a short word: ok, busy, failed kinds, statuses."""

    vendor: VendorName
    node: NodeName | None
    result: str


@dataclass(slots=True)
class CallRecord:
    """One call, as the access line and the metrics see it. Durations are seconds; counts are tokens.

    `cost_micros`: of all its attempts, in micro-dollars, rounded up once. `cache`: hit, miss or off; None where
    answers to what was asked are not kept at all. `replayed`: an earlier call's answer, given again.
    `batch`: it was a line of this one.
    """

    request_id: RequestId
    route: str
    status: int
    code: str | None
    total_s: float
    key_id: KeyId | None = None
    tenant: TenantName | None = None
    model: ModelName | None = None
    chain: ModelName | None = None
    vendor: VendorName | None = None
    node: NodeName | None = None
    placement: str | None = None
    streamed: bool = False
    attempts: tuple[AttemptRecord, ...] = ()
    upstream_s: float = 0.0
    queue_s: float = 0.0
    forecast_s: float | None = None
    first_token_s: float | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_micros: int = 0
    cancelled: bool = False
    cache: str | None = None
    batch: str | None = None
    replayed: bool = False


class Telemetry(Protocol):
    """Counts, times and logs; never raises, never waits."""

    def call_started(self) -> None:
        """Count one more call in flight."""
        ...

    def call_ended(self, record: CallRecord) -> None:
        """Count the call off and keep its record for metrics and the one line per request."""
        ...

    def dependency_failed(self, dependency: Dependency, operation: str, kind: str) -> None:
        """Count an error of a dependency: `ktms_dependency_errors_total`."""
        ...

    def gauge(self, gauge: Gauge, value: float, label: str = "") -> None:
        """Set a value of the moment."""
        ...

    def counted(self, count: Count, amount: int = 1, label: str = "") -> None:
        """Count something."""
        ...

    def event(self, level: str, name: str, /, **facts: str | float | None) -> None:
        """Log something worth a line of its own; `level` is debug, info, warning or error."""
        ...
