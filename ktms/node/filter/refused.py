"""A request that goes no further: what is told, under which status, and whether its connection ends with it.

Rules: no 401 and no 403 after the token was right, or the gateway would take its token for refused; a message
never quotes what was sent. Not here: how it is written (`way_back.py`).
"""

import json
from dataclasses import dataclass

from ktms.domain.errors import ErrorCode, problem

_STATUS_OF = {
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.INVALID_API_KEY: 401,
    ErrorCode.MODEL_NOT_FOUND: 404,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.REQUEST_TIMEOUT: 408,
    ErrorCode.REQUEST_TOO_LARGE: 413,
    ErrorCode.UNSUPPORTED_ENCODING: 415,
    ErrorCode.EXPECTATION_FAILED: 417,
    ErrorCode.INTERNAL_ERROR: 500,
    ErrorCode.UPSTREAM_ERROR: 502,
    ErrorCode.UPSTREAM_AUTH_ERROR: 502,
    ErrorCode.STREAM_INTERRUPTED: 502,
    ErrorCode.UPSTREAM_TIMEOUT: 504,
    ErrorCode.DRAINING: 503,
    ErrorCode.NO_NODE_AVAILABLE: 503,
    ErrorCode.OVERLOADED: 503,
}
"""The same as the gateway's for its own errors."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One refusal. `error` is the JSON document in OpenAI's shape."""

    status: int
    error: bytes
    ends: bool = False
    headers: tuple[tuple[str, str], ...] = ()


def refused(
    code: ErrorCode,
    message: str,
    *,
    param: str | None = None,
    status: int | None = None,
    ends: bool = False,
    headers: tuple[tuple[str, str], ...] = (),
) -> Refused:
    """Make a refusal; the status follows from the code unless it is told."""
    cause = problem(code, message, param=param)
    fields = {"message": cause.message, "type": cause.type, "param": cause.param, "code": cause.code}
    return Refused(status or _STATUS_OF[code], json.dumps({"error": fields}).encode(), ends, headers)
