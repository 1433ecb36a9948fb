"""The documented ends of a call: error codes and the HTTP status of each (docs/api.md, Errors).

Written down here a second time on purpose: a judge that read the product's own table would agree with its
mistakes.
"""

STATUS_OF = {
    "invalid_request": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "model_not_allowed": 403,
    "placement_locked": 403,
    "region_not_allowed": 403,
    "model_not_found": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "request_too_large": 413,
    "unsupported_encoding": 415,
    "idempotency_conflict": 409,
    "expectation_failed": 417,
    "rate_limit_exceeded": 429,
    "budget_exceeded": 429,
    "internal_error": 500,
    "upstream_error": 502,
    "upstream_auth_error": 502,
    "stream_interrupted": 502,
    "auth_unavailable": 503,
    "no_target_available": 503,
    "no_node_available": 503,
    "node_state_unknown": 503,
    "config_unavailable": 503,
    "idempotency_unavailable": 503,
    "draining": 503,
    "budget_unavailable": 503,
    "overloaded": 503,
    "upstream_timeout": 504,
}

OURS_ALONE = frozenset({401, 402, 403})
"""A vendor that answers so refuses our account, which is never the client's to see."""

INTERNAL = "internal_error"


ALSO = frozenset({("idempotency_conflict", 422)})
"""A second status of a code: another body under the same key."""


def is_documented(status: int, code: str) -> bool:
    """Whether this code stands in the table, with this status."""
    return STATUS_OF.get(code) == status or (code, status) in ALSO


def may_be_vendors(status: int) -> bool:
    """Whether this status may be a vendor's own, passed on to the client."""
    return 400 <= status < 500 and status not in OURS_ALONE
