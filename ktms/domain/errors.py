"""What can go wrong with a call, in the words a client sees.

Rules: a code belongs to exactly one type; the HTTP status stands in `api/status_table.py` and nowhere else; a
message never holds a secret, a URL credential or an internal address; an internal fault is never a 401.
Not here: what vendors call their errors (dialects, vendors) and how an error is written (dialects, api).
"""

from dataclasses import dataclass
from enum import StrEnum


class ErrorType(StrEnum):
    """Whose fault it is, in OpenAI's vocabulary."""

    INVALID_REQUEST = "invalid_request_error"
    AUTHENTICATION = "authentication_error"
    PERMISSION = "permission_error"
    NOT_FOUND = "not_found_error"
    RATE_LIMIT = "rate_limit_error"
    UPSTREAM = "upstream_error"
    UNAVAILABLE = "service_unavailable"


class ErrorCode(StrEnum):
    """The codes of the public API; within 1.x the list may only grow."""

    INVALID_REQUEST = "invalid_request"
    CONTEXT_LENGTH_EXCEEDED = "context_length_exceeded"
    INVALID_API_KEY = "invalid_api_key"
    MODEL_NOT_ALLOWED = "model_not_allowed"
    PLACEMENT_LOCKED = "placement_locked"
    REGION_NOT_ALLOWED = "region_not_allowed"
    MODEL_NOT_FOUND = "model_not_found"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    REQUEST_TOO_LARGE = "request_too_large"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    EXPECTATION_FAILED = "expectation_failed"
    RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"
    BUDGET_EXCEEDED = "budget_exceeded"
    BUDGET_UNAVAILABLE = "budget_unavailable"
    UPSTREAM_ERROR = "upstream_error"
    UPSTREAM_AUTH_ERROR = "upstream_auth_error"
    UPSTREAM_TIMEOUT = "upstream_timeout"
    AUTH_UNAVAILABLE = "auth_unavailable"
    NO_TARGET_AVAILABLE = "no_target_available"
    NO_NODE_AVAILABLE = "no_node_available"
    NODE_STATE_UNKNOWN = "node_state_unknown"
    STALE_ANNOUNCEMENT = "stale_announcement"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    CONFIG_UNAVAILABLE = "config_unavailable"
    CONFLICT = "conflict"
    STORE_UNAVAILABLE = "store_unavailable"
    BATCH_EXPIRED = "batch_expired"
    IDEMPOTENCY_UNAVAILABLE = "idempotency_unavailable"
    DRAINING = "draining"
    OVERLOADED = "overloaded"
    STREAM_INTERRUPTED = "stream_interrupted"
    INTERNAL_ERROR = "internal_error"


_TYPE_OF = {
    ErrorCode.INVALID_REQUEST: ErrorType.INVALID_REQUEST,
    ErrorCode.CONTEXT_LENGTH_EXCEEDED: ErrorType.INVALID_REQUEST,
    ErrorCode.INVALID_API_KEY: ErrorType.AUTHENTICATION,
    ErrorCode.MODEL_NOT_ALLOWED: ErrorType.PERMISSION,
    ErrorCode.PLACEMENT_LOCKED: ErrorType.PERMISSION,
    ErrorCode.REGION_NOT_ALLOWED: ErrorType.PERMISSION,
    ErrorCode.MODEL_NOT_FOUND: ErrorType.NOT_FOUND,
    ErrorCode.NOT_FOUND: ErrorType.NOT_FOUND,
    ErrorCode.METHOD_NOT_ALLOWED: ErrorType.INVALID_REQUEST,
    ErrorCode.REQUEST_TIMEOUT: ErrorType.INVALID_REQUEST,
    ErrorCode.REQUEST_TOO_LARGE: ErrorType.INVALID_REQUEST,
    ErrorCode.UNSUPPORTED_ENCODING: ErrorType.INVALID_REQUEST,
    ErrorCode.EXPECTATION_FAILED: ErrorType.INVALID_REQUEST,
    ErrorCode.RATE_LIMIT_EXCEEDED: ErrorType.RATE_LIMIT,
    ErrorCode.BUDGET_EXCEEDED: ErrorType.RATE_LIMIT,
    ErrorCode.BUDGET_UNAVAILABLE: ErrorType.UNAVAILABLE,
    ErrorCode.UPSTREAM_ERROR: ErrorType.UPSTREAM,
    ErrorCode.UPSTREAM_AUTH_ERROR: ErrorType.UPSTREAM,
    ErrorCode.UPSTREAM_TIMEOUT: ErrorType.UPSTREAM,
    ErrorCode.AUTH_UNAVAILABLE: ErrorType.UNAVAILABLE,
    ErrorCode.NO_TARGET_AVAILABLE: ErrorType.UPSTREAM,
    ErrorCode.NO_NODE_AVAILABLE: ErrorType.UPSTREAM,
    ErrorCode.NODE_STATE_UNKNOWN: ErrorType.UPSTREAM,
    ErrorCode.STALE_ANNOUNCEMENT: ErrorType.INVALID_REQUEST,
    ErrorCode.IDEMPOTENCY_CONFLICT: ErrorType.INVALID_REQUEST,
    ErrorCode.CONFIG_UNAVAILABLE: ErrorType.UNAVAILABLE,
    ErrorCode.CONFLICT: ErrorType.INVALID_REQUEST,
    ErrorCode.STORE_UNAVAILABLE: ErrorType.UNAVAILABLE,
    ErrorCode.BATCH_EXPIRED: ErrorType.INVALID_REQUEST,
    ErrorCode.IDEMPOTENCY_UNAVAILABLE: ErrorType.UNAVAILABLE,
    ErrorCode.DRAINING: ErrorType.UNAVAILABLE,
    ErrorCode.OVERLOADED: ErrorType.UNAVAILABLE,
    ErrorCode.STREAM_INTERRUPTED: ErrorType.UPSTREAM,
    ErrorCode.INTERNAL_ERROR: ErrorType.UNAVAILABLE,
}
assert set(_TYPE_OF) == set(ErrorCode), "every code has a type"


@dataclass(frozen=True, slots=True)
class Problem:
    """One error as a client sees it.

    `status` is set where a vendor's own 4xx (or 429) is passed on, and where one code has two statuses; else the
    status table decides by `code`.
    """

    code: str
    type: str
    message: str
    param: str | None = None
    retry_after_s: float | None = None
    status: int | None = None


def problem(
    code: ErrorCode, message: str, *, param: str | None = None, retry_after_s: float | None = None
) -> Problem:
    """Make a problem of ours: the type follows from the code."""
    return Problem(code.value, _TYPE_OF[code].value, message, param, retry_after_s)


class CallFailed(Exception):
    """Ends a call before its answer has begun; the door writes `problem` in the client's dialect."""

    def __init__(self, cause: Problem) -> None:
        super().__init__(f"{cause.code}: {cause.message}")
        self.problem = cause
