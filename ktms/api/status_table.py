"""The one table from error codes to HTTP statuses.

A vendor's own 4xx that is passed on carries its status with it; everything else is looked up here.
"""

from http import HTTPStatus

from ktms.domain.errors import ErrorCode, Problem

STATUS_OF = {
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.CONTEXT_LENGTH_EXCEEDED: 400,
    ErrorCode.INVALID_API_KEY: 401,
    ErrorCode.MODEL_NOT_ALLOWED: 403,
    ErrorCode.PLACEMENT_LOCKED: 403,
    ErrorCode.REGION_NOT_ALLOWED: 403,
    ErrorCode.MODEL_NOT_FOUND: 404,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.REQUEST_TIMEOUT: 408,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_ENCODING: 415,
    ErrorCode.EXPECTATION_FAILED: 417,
    ErrorCode.RATE_LIMIT_EXCEEDED: 429,
    ErrorCode.BUDGET_EXCEEDED: 429,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.UPSTREAM_ERROR: 502,
    ErrorCode.UPSTREAM_AUTH_ERROR: 502,
    ErrorCode.STREAM_INTERRUPTED: 502,
    ErrorCode.AUTH_UNAVAILABLE: 503,
    ErrorCode.BUDGET_UNAVAILABLE: 503,
    ErrorCode.NO_TARGET_AVAILABLE: 503,
    ErrorCode.NO_NODE_AVAILABLE: 503,
    ErrorCode.NODE_STATE_UNKNOWN: 503,
    ErrorCode.STALE_ANNOUNCEMENT: 409,
    ErrorCode.IDEMPOTENCY_CONFLICT: 409,  # another body: 422, told by whoever finds it
    ErrorCode.CONFIG_UNAVAILABLE: 503,
    ErrorCode.CONFLICT: 409,
    ErrorCode.BATCH_EXPIRED: 409,  # stands in the results of a batch alone
    ErrorCode.STORE_UNAVAILABLE: 503,
    ErrorCode.IDEMPOTENCY_UNAVAILABLE: 503,
    ErrorCode.DRAINING: 503,
    ErrorCode.OVERLOADED: 503,
    ErrorCode.UPSTREAM_TIMEOUT: 504,
}
assert set(STATUS_OF) == set(ErrorCode), "every code has a status"

_BY_TEXT = {code.value: status for code, status in STATUS_OF.items()}


def status_of(problem: Problem) -> int:
    """Give the HTTP status of a problem; an unknown code without a status of its own is our mistake: 500."""
    if problem.status is not None:
        return problem.status
    return _BY_TEXT.get(problem.code, HTTPStatus.INTERNAL_SERVER_ERROR)
