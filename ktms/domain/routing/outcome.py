"""How one attempt ended, and what follows from it.

The classification is a table over facts; nothing here dials, waits or logs. Breaker and cooldown rules read the
outcome, they do not look at statuses themselves. Not here: how a vendor's error body is read (dialects), which
problem a call ends with when several targets failed (engine), the HTTP status of our own codes (api).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ktms.domain.errors import ErrorCode, ErrorType, Problem, problem
from ktms.domain.routing.engine_words import (
    is_busy,
    is_generation_failed,
    is_loading,
    is_too_long,
    may_be_too_long,
)
from ktms.domain.routing.scrub import SHOWN_MAX_CHARS, scrub


class FailureKind(Enum):
    """Why an exchange did not work out, as seen from our end of the wire."""

    REFUSED = "refused"  # nobody listens, unreachable, name unknown
    TLS = "tls"
    CLOSED = "closed"  # reset or closed before the answer was complete
    CONNECT_TIMEOUT = "connect_timeout"
    POOL_TIMEOUT = "pool_timeout"  # our own limit on connections: not the target's fault
    FIRST_TOKEN_TIMEOUT = "first_token_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    MALFORMED = "malformed"  # not HTTP, bad framing, not SSE
    TOO_LARGE = "too_large"
    ENCODED = "encoded"  # compressed although identity was asked for
    ADDRESS_REFUSED = "address_refused"  # our address guard said no
    WRONG_MODEL = "wrong_model"  # a node answered as another model than was asked (FN5)
    TRUNCATED = "truncated"  # a node shortened the prompt in silence (N24)

    @property
    def is_timeout(self) -> bool:
        """Whether a timer of ours ended the exchange."""
        return self in _TIMEOUTS


_TIMEOUTS = frozenset(
    {
        FailureKind.CONNECT_TIMEOUT,
        FailureKind.FIRST_TOKEN_TIMEOUT,
        FailureKind.IDLE_TIMEOUT,
        FailureKind.TOTAL_TIMEOUT,
        FailureKind.POOL_TIMEOUT,
    }
)


@dataclass(frozen=True, slots=True)
class VendorError:
    """An error as a vendor told it, unjudged. `status` is set only where the object itself named one."""

    status: int | None = None
    code: str | None = None
    type: str | None = None
    message: str = ""
    param: str | None = None


class Rest(Enum):
    """Who is set aside after an attempt, if anybody."""

    NOTHING = "nobody"
    TARGET = "this model on this vendor, for as long as it said"
    KEY = "the vendor key (the target where there is none), for as long as it said; the last one too"
    KEY_AUTH = "the vendor key, for a fixed time, if there is another one; and an alarm"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from an attempt that failed.

    `ends_call`: no other target is asked, the client gets `problem`; else `problem` is what it gets if no target
    is left. `breaker_counts`: the origin itself is at fault. `word` stands for it in `X-KTMS-Attempts`.
    `busy`: a node that is full although a slot looked free; that was no attempt. `loading`: a node whose model is
    not in memory yet; `draining`: one that takes nothing new, since it is about to stop. All are alive, and none
    is worse for it.
    """

    ends_call: bool
    breaker_counts: bool
    rest: Rest
    problem: Problem
    word: str
    busy: bool = False
    loading: bool = False
    draining: bool = False

    @property
    def passes(self) -> bool:
        """Whether a node has passed the call by: that was no attempt, and another one may take it."""
        return self.busy or self.loading or self.draining

    @property
    def out_of_time(self) -> bool:
        """Whether the whole exchange took too long: it may be our own deadline, and no fault of theirs."""
        return self.word == FailureKind.TOTAL_TIMEOUT.value


SOON_S = 1.0
"""Told to a client where another attempt may well succeed and nobody knows when."""

LIMITED_SOON_S = 5.0
"""Told to a client after a 429 that did not say how long."""

LOADED_SOON_S = 10.0
"""Told to a client while a node loads its model: seconds for a small one, and nobody knows how many."""

_SHOWN = {
    FailureKind.REFUSED: "The upstream could not be reached.",
    FailureKind.TLS: "The upstream did not present a valid certificate.",
    FailureKind.CLOSED: "The upstream closed the connection before its answer was complete.",
    FailureKind.CONNECT_TIMEOUT: "The upstream did not accept a connection in time.",
    FailureKind.POOL_TIMEOUT: "The gateway has no free connection to the upstream.",
    FailureKind.FIRST_TOKEN_TIMEOUT: "The upstream did not begin to answer in time.",
    FailureKind.IDLE_TIMEOUT: "The upstream stopped sending.",
    FailureKind.TOTAL_TIMEOUT: "The upstream did not finish in time.",
    FailureKind.MALFORMED: "The upstream sent something that is no valid answer.",
    FailureKind.TOO_LARGE: "The upstream's answer is too large.",
    FailureKind.ENCODED: "The upstream sent a compressed answer, which was not asked for.",
    FailureKind.ADDRESS_REFUSED: "The upstream's address is not allowed.",
    FailureKind.WRONG_MODEL: "The upstream answered with another model than was asked for.",
    FailureKind.TRUNCATED: "The upstream shortened the prompt to fit its window.",
}
assert set(_SHOWN) == set(FailureKind), "every failure has words"

_NOT_THE_ORIGINS_FAULT = frozenset(
    {
        FailureKind.POOL_TIMEOUT,  # our own limit
        FailureKind.ADDRESS_REFUSED,  # our own rule
        FailureKind.TOO_LARGE,  # one answer, not an outage
        FailureKind.TRUNCATED,  # its window is smaller than we thought
    }
)


def judge_failure(kind: FailureKind, *, visible: bool) -> Verdict:
    """Judge an exchange that did not work out; `visible`: something of it has been sent to the client."""
    if visible:
        code = ErrorCode.STREAM_INTERRUPTED
    elif kind is FailureKind.POOL_TIMEOUT:
        code = ErrorCode.OVERLOADED
    elif kind.is_timeout:
        code = ErrorCode.UPSTREAM_TIMEOUT
    else:
        code = ErrorCode.UPSTREAM_ERROR
    return Verdict(
        ends_call=visible,
        breaker_counts=kind not in _NOT_THE_ORIGINS_FAULT,
        rest=Rest.NOTHING,
        problem=problem(code, _SHOWN[kind], retry_after_s=None if visible else SOON_S),
        word=kind.value,
    )


def judge_answer(
    status: int,
    error: VendorError | None,
    *,
    has_retry_after: bool,
    of_node: bool = False,
    draining: bool = False,
) -> Verdict:
    """Judge an answer that is no success: a status, or an error object inside a 200 (its real meaning counts).

    `of_node`: it came from a machine of ours, which has no keys and may be full, loading or without the model; it
    says of itself if it is `draining`.
    """
    told = error or VendorError()
    real = _real_status(status, told)
    if of_node:
        verdict = _judge_draining() if real == 503 and draining else _judge_node(real, told)
        if verdict is not None:
            return verdict
    if real == 429:
        return _verdict(real, Rest.KEY, _passed_on(real, told, retry_after_s=LIMITED_SOON_S))
    if real in _CREDENTIAL_REFUSED:
        return _verdict(real, Rest.KEY_AUTH, _credential_problem(real))
    if real in _MOVING_ON:
        return _verdict(real, Rest.NOTHING, _passed_on(real, told, retry_after_s=SOON_S))
    if 400 <= real < 500:
        return _verdict(real, Rest.NOTHING, _passed_on(real, told, retry_after_s=None), ends_call=True)
    if 500 <= real < 600:
        rests = real == 503 and has_retry_after
        return _verdict(
            real, Rest.TARGET if rests else Rest.NOTHING, _server_problem(real, told), breaker_counts=not rests
        )
    # Redirects are never followed, and other statuses mean nothing to us: a wrong base URL, not an outage.
    return _verdict(real, Rest.NOTHING, problem(ErrorCode.UPSTREAM_ERROR, _unexpected(real)))


BUSY_WORD = "busy"
LOADING_WORD = "loading"
DRAINING_WORD = "draining"
"""How these stand in `X-KTMS-Attempts`: a status would say too little."""


def _judge_draining() -> Verdict:
    cause = problem(ErrorCode.NO_NODE_AVAILABLE, "The node takes no new calls.", retry_after_s=SOON_S)
    return replace(_verdict(503, Rest.NOTHING, cause), word=DRAINING_WORD, draining=True)


def _judge_node(real: int, told: VendorError) -> Verdict | None:
    """Judge what means something else on a machine of ours than at a vendor; None for the rest."""
    if real == 429 or (real == 503 and is_busy(told)):
        cause = problem(ErrorCode.NO_NODE_AVAILABLE, "The node has no free slot.", retry_after_s=SOON_S)
        return replace(_verdict(real, Rest.NOTHING, cause), word=BUSY_WORD, busy=True)
    if real == 503 and is_loading(told):
        cause = problem(ErrorCode.NO_NODE_AVAILABLE, "The node is loading the model.", retry_after_s=LOADED_SOON_S)
        return replace(_verdict(real, Rest.NOTHING, cause), word=LOADING_WORD, loading=True)
    if real == 404:  # the catalogue says that it has the model: not the client's fault, another node may
        cause = problem(ErrorCode.UPSTREAM_ERROR, "The node does not have the model.", retry_after_s=SOON_S)
        return _verdict(real, Rest.NOTHING, cause)
    if real == 403 and told.code is None and told.type is None:
        # Ollama's check of Host, which answers with an empty body: no credential is at fault, no key to rest.
        cause = problem(ErrorCode.UPSTREAM_ERROR, "The node refused the request and gave no reason (status 403).")
        return _verdict(real, Rest.NOTHING, cause)
    return None


def _real_status(status: int, error: VendorError) -> int:
    """Give what an answer stands for: an engine's words before its status, where they are known to be right."""
    if is_too_long(error):
        return 400
    if status == 200:
        status = meant_status(error)
    if status == 422 and may_be_too_long(error):
        return 400
    return 502 if status == 424 and is_generation_failed(error) else status


def meant_status(error: VendorError) -> int:
    """Give the status an error object inside a 200 stands for; 500 where its words are not known."""
    if error.status is not None and 400 <= error.status < 600:
        return error.status
    for word in (error.code, error.type):
        if word is None:
            continue
        if word.isascii() and word.isdigit() and 400 <= int(word[:4]) < 600:
            return int(word[:4])
        found = _MEANT.get(word.lower())
        if found is not None:
            return found
    return 500


_CREDENTIAL_REFUSED = frozenset({401, 402, 403})
"""The vendor refuses *our* account: nothing the client could mend, and never shown as a 401."""

_MOVING_ON = frozenset({408, 409, 425})
"""Another target may well take the same request."""

_MEANT: Mapping[str, int] = {
    "badrequesterror": 400,
    "content_filter": 400,
    "content_policy_violation": 400,
    "context_length_exceeded": 400,
    "exceed_context_size_error": 400,
    "invalid_argument": 400,
    "invalid_prompt": 400,
    "invalid_request": 400,
    "invalid_request_error": 400,
    "invalid_value": 400,
    "string_above_max_length": 400,
    "unsupported_parameter": 400,
    "validation_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "unauthenticated": 401,
    "unauthorized": 401,
    "billing_error": 402,
    "insufficient_balance": 402,
    "permission_denied": 403,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found": 404,
    "not_found_error": 404,
    "notfounderror": 404,
    "request_too_large": 413,
    "insufficient_quota": 429,
    "quota_exceeded": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_reached": 429,
    "requests": 429,
    "resource_exhausted": 429,
    "tokens": 429,
    "too_many_requests": 429,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "internalservererror": 500,
    "server_error": 500,
    "engine_overloaded": 503,
    "overloaded": 503,
    "overloaded_error": 503,
    "service_unavailable": 503,
    "unavailable": 503,
    "unavailable_error": 503,
    "timeout": 504,
    "timeout_error": 504,
}
"""Well-known words of vendors and engines, lower case, by the status they send with them outside of a 200."""

_CODE_BY_STATUS = {
    404: ErrorCode.NOT_FOUND,
    413: ErrorCode.REQUEST_TOO_LARGE,
    415: ErrorCode.UNSUPPORTED_ENCODING,
    429: ErrorCode.RATE_LIMIT_EXCEEDED,
}
"""Where the vendor gave no code of its own; others are invalid requests or, if they move on, upstream errors."""

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")  # a code is a word; whatever is longer or a number is none

_TYPES = frozenset(ErrorType)


def _verdict(
    status: int, rest: Rest, cause: Problem, *, ends_call: bool = False, breaker_counts: bool = False
) -> Verdict:
    return Verdict(ends_call, breaker_counts, rest, cause, str(status))


def _passed_on(status: int, error: VendorError, *, retry_after_s: float | None) -> Problem:
    """Keep a vendor's 4xx: its own status, code and (cut) words."""
    return Problem(
        code=_code(status, error),
        type=_type(status, error),
        message=scrub(error.message) or f"The upstream refused the request with status {status}.",
        param=scrub(error.param) if error.param else None,
        retry_after_s=retry_after_s,
        status=status,
    )


def _code(status: int, error: VendorError) -> str:
    if error.code is not None and _CODE.fullmatch(error.code):
        return error.code
    if is_too_long(error) or (status == 400 and may_be_too_long(error)):
        return ErrorCode.CONTEXT_LENGTH_EXCEEDED.value
    otherwise = ErrorCode.UPSTREAM_ERROR if status in _MOVING_ON else ErrorCode.INVALID_REQUEST
    return _CODE_BY_STATUS.get(status, otherwise).value


def _type(status: int, error: VendorError) -> str:
    if error.type is not None and error.type in _TYPES:
        return error.type
    if status == 404:
        return ErrorType.NOT_FOUND.value
    if status == 429:
        return ErrorType.RATE_LIMIT.value
    return ErrorType.UPSTREAM.value if status in _MOVING_ON else ErrorType.INVALID_REQUEST.value


def _credential_problem(status: int) -> Problem:
    # The vendor's own words are left out: they tend to repeat a part of the key.
    return problem(
        ErrorCode.UPSTREAM_AUTH_ERROR, f"The upstream refused the gateway's credential (status {status})."
    )


def _server_problem(status: int, error: VendorError) -> Problem:
    told = scrub(error.message)
    message = f"The upstream failed with status {status}" + (f": {told}" if told else ".")
    return problem(ErrorCode.UPSTREAM_ERROR, message[:SHOWN_MAX_CHARS], retry_after_s=SOON_S)


def _unexpected(status: int) -> str:
    if 300 <= status < 400:
        return f"The upstream answered with a redirect (status {status}), which is never followed."
    return f"The upstream answered with an unexpected status ({status})."
