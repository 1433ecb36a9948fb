from dataclasses import replace

import pytest

from ktms.domain.batch.line import (
    FAILED_PAUSE_S,
    REST_MAX_S,
    REST_MIN_S,
    REST_S,
    RUNS_FAILED_MAX,
    Again,
    after_failure,
)
from ktms.domain.errors import ErrorCode, problem


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.RATE_LIMIT_EXCEEDED,
        ErrorCode.BUDGET_EXCEEDED,
        ErrorCode.BUDGET_UNAVAILABLE,
        ErrorCode.AUTH_UNAVAILABLE,
        ErrorCode.CONFIG_UNAVAILABLE,
        ErrorCode.OVERLOADED,
        ErrorCode.DRAINING,
    ],
)
def test_what_holds_up_a_key_lets_all_its_lines_rest(code: ErrorCode) -> None:
    assert after_failure(problem(code, "", retry_after_s=7), 0) == Again(7, whole=True)


def test_where_nobody_says_how_long_a_rest_is_usual_and_never_nothing() -> None:
    assert after_failure(problem(ErrorCode.OVERLOADED, ""), 0) == Again(REST_S, whole=True)
    assert after_failure(problem(ErrorCode.OVERLOADED, "", retry_after_s=0), 0) == Again(REST_MIN_S, whole=True)


@pytest.mark.parametrize(
    "code", [ErrorCode.NO_NODE_AVAILABLE, ErrorCode.NODE_STATE_UNKNOWN, ErrorCode.NO_TARGET_AVAILABLE]
)
def test_a_line_that_nobody_could_take_rests_alone_however_often(code: ErrorCode) -> None:
    assert after_failure(problem(code, "", retry_after_s=2), 100) == Again(2, whole=False)


def test_a_vendors_own_limit_is_waited_out() -> None:
    cause = replace(problem(ErrorCode.UPSTREAM_ERROR, ""), code="requests", status=429)
    assert after_failure(cause, 0) == Again(REST_S, whole=True)
    assert after_failure(replace(cause, code=ErrorCode.RATE_LIMIT_EXCEEDED), 0) == Again(REST_S, whole=True)


def test_a_call_larger_than_its_whole_limit_is_refused_for_good() -> None:
    assert after_failure(problem(ErrorCode.RATE_LIMIT_EXCEEDED, ""), 0) is None
    assert after_failure(problem(ErrorCode.BUDGET_EXCEEDED, ""), 0) is None


def test_targets_that_failed_are_asked_again_a_few_times() -> None:
    cause = problem(ErrorCode.UPSTREAM_TIMEOUT, "", retry_after_s=1)
    runs = [after_failure(cause, failures) for failures in range(RUNS_FAILED_MAX)]
    assert runs == [Again(FAILED_PAUSE_S, whole=False, failed=True)] * (RUNS_FAILED_MAX - 1) + [None]


def test_a_longer_pause_of_a_target_is_respected() -> None:
    again = after_failure(problem(ErrorCode.UPSTREAM_ERROR, "", retry_after_s=100), 0)
    assert again == Again(100, whole=False, failed=True)


def test_nobody_waits_longer_than_limits_may_take_to_be_raised() -> None:
    again = after_failure(problem(ErrorCode.BUDGET_EXCEEDED, "", retry_after_s=86_400), 0)
    assert again == Again(REST_MAX_S, whole=True)


@pytest.mark.parametrize("code", [ErrorCode.INVALID_REQUEST, ErrorCode.MODEL_NOT_FOUND, ErrorCode.INTERNAL_ERROR])
def test_what_would_fail_again_is_the_lines_result(code: ErrorCode) -> None:
    assert after_failure(problem(code, ""), 0) is None


def test_a_vendors_own_refusal_is_the_lines_result() -> None:
    assert after_failure(replace(problem(ErrorCode.INVALID_REQUEST, ""), status=422), 0) is None


@pytest.mark.parametrize("status", [500, 529])
def test_a_vendors_own_failure_is_asked_again(status: int) -> None:
    cause = replace(problem(ErrorCode.INVALID_REQUEST, ""), code="overloaded_error", status=status)
    assert after_failure(cause, 0) == Again(FAILED_PAUSE_S, whole=False, failed=True)
