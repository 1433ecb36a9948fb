"""One line of a batch under way: who has it, and what becomes of it after a run. Pure.

Rules: a line that nobody could take right now waits and is run again, for nothing; one whose targets all failed
is run again a few times; everything else is its result. A line has one result, and one usage event at most
(`names.event_of_line`).
"""

from dataclasses import dataclass

from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode, Problem
from ktms.domain.ids import KeyId

RUNS_FAILED_MAX = 3
"""Runs whose targets all failed; each has asked every target of its plan."""

FAILED_PAUSE_S = 30.0
"""A breaker is open for so long."""

REST_S = 5.0
"""Before a line is run again that nobody could take and nobody said when."""

REST_MIN_S = 0.1
"""Whoever says that there is nothing to wait for is asked ten times a second at most."""

REST_MAX_S = 300.0
"""Limits are raised and machines join: whoever waits longer asks now and then all the same."""

DEATHS_MAX = 5
"""Replicas that died with one line in hand; the line is what they have in common."""


@dataclass(frozen=True, slots=True)
class LineRef:
    """One claim of one line. `claim` grows with every claim: an older one stores nothing any more."""

    batch: BatchId
    number: int
    claim: int


@dataclass(frozen=True, slots=True)
class ClaimedLine:
    """A line that is ours to run. `left_s`: until the window of its batch ends; not above 0: run it no more.

    Its text lies at `start` of the input file. `failures`: runs so far whose targets all failed; `deaths`:
    replicas that died with it.
    """

    ref: LineRef
    owner: KeyId
    route: Route
    input_file: FileId
    start: int
    size_bytes: int
    left_s: float
    failures: int = 0
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Again:
    """Run it again after `pause_s`; `whole`: all lines of its key have to wait, not this one alone.

    `failed`: its targets were asked and failed.
    """

    pause_s: float
    whole: bool
    failed: bool = False


_OF_THE_KEY = frozenset(
    {
        ErrorCode.RATE_LIMIT_EXCEEDED.value,
        ErrorCode.BUDGET_EXCEEDED.value,
        ErrorCode.BUDGET_UNAVAILABLE.value,
        ErrorCode.AUTH_UNAVAILABLE.value,
        ErrorCode.CONFIG_UNAVAILABLE.value,
        ErrorCode.OVERLOADED.value,
        ErrorCode.DRAINING.value,
    }
)
_OF_THE_LINE = frozenset(
    {
        ErrorCode.NO_NODE_AVAILABLE.value,
        ErrorCode.NODE_STATE_UNKNOWN.value,
        ErrorCode.NO_TARGET_AVAILABLE.value,
    }
)
_OF_TARGETS = frozenset(
    {
        ErrorCode.UPSTREAM_ERROR.value,
        ErrorCode.UPSTREAM_AUTH_ERROR.value,
        ErrorCode.UPSTREAM_TIMEOUT.value,
        ErrorCode.STREAM_INTERRUPTED.value,
    }
)


def after_failure(cause: Problem, failures: int) -> Again | None:
    """Say whether a line that got no answer is run again; None: the problem is its result.

    A call that is larger than its whole limit carries no time to come back: it is refused for good.
    """
    limited = cause.code in (ErrorCode.RATE_LIMIT_EXCEEDED, ErrorCode.BUDGET_EXCEEDED)
    if limited and cause.retry_after_s is None and cause.status is None:
        return None
    pause_s = min(max(REST_S if cause.retry_after_s is None else cause.retry_after_s, REST_MIN_S), REST_MAX_S)
    if cause.code in _OF_THE_KEY or cause.status == _TOO_MANY:
        return Again(pause_s, whole=True)
    if cause.code in _OF_THE_LINE:
        return Again(pause_s, whole=False)
    if (cause.code in _OF_TARGETS or (cause.status or 0) >= _SERVER_ERROR) and failures + 1 < RUNS_FAILED_MAX:
        return Again(max(pause_s, FAILED_PAUSE_S), whole=False, failed=True)
    return None


_TOO_MANY = 429
_SERVER_ERROR = 500
