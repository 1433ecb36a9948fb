"""What an attempt at a node says of that node: its health, and whether its engine may still be at work.

Pure. Not here: what follows from evidence (`domain/capacity/node_health.py`), who takes it (`node_walk.py`).
"""

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.capacity.seat import Seat
from ktms.domain.routing.outcome import FailureKind
from ktms.engine.shot import Shot
from ktms.vendors.registry import node_shape

_NO_TOKEN = frozenset({FailureKind.FIRST_TOKEN_TIMEOUT.value, FailureKind.TOTAL_TIMEOUT.value})
_UNREACHED = frozenset({FailureKind.REFUSED.value, FailureKind.TLS.value, FailureKind.CONNECT_TIMEOUT.value})
_TOKEN_REFUSED = frozenset({"401", "403"})
_OURS = frozenset({FailureKind.POOL_TIMEOUT.value, FailureKind.ADDRESS_REFUSED.value, FailureKind.TOO_LARGE.value})


def evidence_of(shot: Shot) -> Evidence | None:
    """Read what an attempt says about its node's health; None: nothing, as when its client left."""
    verdict = shot.verdict
    if verdict is None:
        return Evidence.TOKEN if shot.status is AttemptStatus.OK else None
    if verdict.loading:
        return Evidence.LOADING
    if verdict.word == FailureKind.TRUNCATED.value:
        return Evidence.TOKEN
    if verdict.busy or verdict.draining or verdict.word[:1] == "4":
        return Evidence.TOKEN_REFUSED if verdict.word in _TOKEN_REFUSED else Evidence.ANSWERED
    if verdict.word in _OURS:
        return None
    if verdict.word in _UNREACHED:
        return Evidence.CONNECT_FAILED
    if verdict.word in _NO_TOKEN and shot.first_token_at is None:
        return Evidence.FIRST_TOKEN_TIMEOUT
    return Evidence.SERVER_ERROR if verdict.word[:1] == "5" else Evidence.CUT


def may_work_on(seat: Seat, shot: Shot | None) -> bool:
    """Whether the engine may go on generating although we have closed its connection (N23)."""
    if node_shape(seat.state.node.engine).stops_for_leavers:
        return False
    if shot is None:
        return True
    if shot.status is AttemptStatus.CANCELLED:
        return True
    verdict = shot.verdict
    return verdict is not None and verdict.word in {
        FailureKind.FIRST_TOKEN_TIMEOUT.value,
        FailureKind.IDLE_TIMEOUT.value,
        FailureKind.TOTAL_TIMEOUT.value,
        FailureKind.TOO_LARGE.value,
    }
