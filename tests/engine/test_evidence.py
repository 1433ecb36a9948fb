from dataclasses import replace

import pytest

from ktms.domain.access.usage_event import AttemptStatus
from ktms.domain.capacity.node_health import Evidence
from ktms.domain.routing.outcome import FailureKind, VendorError, Verdict, judge_answer, judge_failure
from ktms.engine.evidence import evidence_of
from ktms.engine.shot import Shot


def answered(status: int, error: VendorError | None = None, *, draining: bool = False) -> Verdict:
    return judge_answer(status, error, has_retry_after=False, of_node=True, draining=draining)


@pytest.mark.parametrize(
    ("verdict", "evidence"),
    [
        (answered(400), Evidence.ANSWERED),
        (answered(429), Evidence.ANSWERED),
        (answered(500), Evidence.SERVER_ERROR),
        (answered(503), Evidence.SERVER_ERROR),
        (answered(503, draining=True), Evidence.ANSWERED),
        (answered(503, VendorError(type="unavailable_error", message="Loading model")), Evidence.LOADING),
        (judge_failure(FailureKind.REFUSED, visible=False), Evidence.CONNECT_FAILED),
        (judge_failure(FailureKind.FIRST_TOKEN_TIMEOUT, visible=False), Evidence.FIRST_TOKEN_TIMEOUT),
        (judge_failure(FailureKind.CLOSED, visible=True), Evidence.CUT),
        (judge_failure(FailureKind.TRUNCATED, visible=False), Evidence.TOKEN),
        (judge_failure(FailureKind.POOL_TIMEOUT, visible=False), None),
    ],
)
def test_what_an_attempt_says_of_its_node(verdict: Verdict, evidence: Evidence | None) -> None:
    assert evidence_of(Shot(0.0, verdict=verdict)) is evidence


@pytest.mark.parametrize(
    ("status", "evidence"), [(AttemptStatus.OK, Evidence.TOKEN), (AttemptStatus.CANCELLED, None)]
)
def test_an_answer_is_a_token_and_a_client_that_left_says_nothing(
    status: AttemptStatus, evidence: Evidence | None
) -> None:
    assert evidence_of(replace(Shot(0.0), status=status)) is evidence


def test_a_timer_that_ran_out_after_the_first_token_is_a_cut() -> None:
    verdict = judge_failure(FailureKind.TOTAL_TIMEOUT, visible=True)
    assert evidence_of(Shot(0.0, verdict=verdict, first_token_at=1.0)) is Evidence.CUT
