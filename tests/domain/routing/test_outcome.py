"""How attempts end and what follows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.errors import ErrorCode, ErrorType
from ktms.domain.routing.outcome import FailureKind, Rest, VendorError, judge_answer, judge_failure, meant_status

NOT_COUNTED = {
    FailureKind.POOL_TIMEOUT,
    FailureKind.ADDRESS_REFUSED,
    FailureKind.TOO_LARGE,
    FailureKind.TRUNCATED,
}


@pytest.mark.parametrize("kind", list(FailureKind))
def test_before_anything_was_seen_the_next_target_is_asked(kind: FailureKind) -> None:
    verdict = judge_failure(kind, visible=False)

    assert not verdict.ends_call
    assert verdict.rest is Rest.NOTHING
    assert verdict.word == kind.value
    assert verdict.problem.retry_after_s is not None


@pytest.mark.parametrize("kind", list(FailureKind))
def test_after_something_was_seen_the_stream_is_interrupted(kind: FailureKind) -> None:
    verdict = judge_failure(kind, visible=True)

    assert verdict.ends_call
    assert verdict.problem.code == ErrorCode.STREAM_INTERRUPTED
    assert verdict.problem.retry_after_s is None


@pytest.mark.parametrize("kind", list(FailureKind))
@pytest.mark.parametrize("visible", [False, True])
def test_the_breaker_counts_what_is_the_origins_fault(kind: FailureKind, visible: bool) -> None:
    assert judge_failure(kind, visible=visible).breaker_counts is (kind not in NOT_COUNTED)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (FailureKind.REFUSED, ErrorCode.UPSTREAM_ERROR),
        (FailureKind.MALFORMED, ErrorCode.UPSTREAM_ERROR),
        (FailureKind.ENCODED, ErrorCode.UPSTREAM_ERROR),
        (FailureKind.WRONG_MODEL, ErrorCode.UPSTREAM_ERROR),
        (FailureKind.TRUNCATED, ErrorCode.UPSTREAM_ERROR),
        (FailureKind.CONNECT_TIMEOUT, ErrorCode.UPSTREAM_TIMEOUT),
        (FailureKind.FIRST_TOKEN_TIMEOUT, ErrorCode.UPSTREAM_TIMEOUT),
        (FailureKind.IDLE_TIMEOUT, ErrorCode.UPSTREAM_TIMEOUT),
        (FailureKind.TOTAL_TIMEOUT, ErrorCode.UPSTREAM_TIMEOUT),
        (FailureKind.POOL_TIMEOUT, ErrorCode.OVERLOADED),
    ],
)
def test_a_failure_has_the_code_of_its_kind(kind: FailureKind, code: ErrorCode) -> None:
    assert judge_failure(kind, visible=False).problem.code == code


def test_timers_of_ours_are_told_from_other_failures() -> None:
    assert {kind for kind in FailureKind if kind.is_timeout} == {
        kind for kind in FailureKind if kind.value.endswith("_timeout")
    }


@pytest.mark.parametrize("status", [400, 404, 405, 406, 410, 411, 412, 413, 415, 418, 422, 424, 451, 499])
def test_a_4xx_is_the_clients_to_see(status: int) -> None:
    error = VendorError(code="its_code", type="invalid_request_error", message="its words", param="messages")

    verdict = judge_answer(status, error, has_retry_after=False)

    assert verdict.ends_call
    assert not verdict.breaker_counts
    assert verdict.rest is Rest.NOTHING
    cause = verdict.problem
    assert (cause.status, cause.code, cause.message, cause.param) == (status, "its_code", "its words", "messages")
    assert verdict.word == str(status)


@pytest.mark.parametrize("status", [401, 402, 403, 408, 409, 425, 429])
def test_some_4xx_move_on_and_never_count(status: int) -> None:
    verdict = judge_answer(status, None, has_retry_after=False)

    assert not verdict.ends_call
    assert not verdict.breaker_counts


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_credential_is_ours_and_its_words_are_left_out(status: int) -> None:
    error = VendorError(code="invalid_api_key", message="Incorrect API key provided: sk-abc")

    verdict = judge_answer(status, error, has_retry_after=False)

    assert verdict.rest is Rest.KEY_AUTH
    assert verdict.problem.code == ErrorCode.UPSTREAM_AUTH_ERROR
    assert verdict.problem.status is None
    assert "sk-abc" not in verdict.problem.message
    assert "Incorrect" not in verdict.problem.message


@pytest.mark.parametrize("has_retry_after", [False, True])
def test_a_429_rests_the_key_and_is_shown_as_a_429(has_retry_after: bool) -> None:
    verdict = judge_answer(429, None, has_retry_after=has_retry_after)

    assert verdict.rest is Rest.KEY
    cause = verdict.problem
    assert (cause.status, cause.code, cause.type) == (429, "rate_limit_exceeded", ErrorType.RATE_LIMIT)
    assert cause.retry_after_s is not None


def test_the_code_of_a_429_is_kept() -> None:
    verdict = judge_answer(429, VendorError(code="insufficient_quota"), has_retry_after=False)

    assert verdict.problem.code == "insufficient_quota"


@pytest.mark.parametrize("status", [408, 409, 425])
def test_the_last_one_of_those_that_move_on_keeps_its_status(status: int) -> None:
    cause = judge_answer(status, None, has_retry_after=False).problem

    assert (cause.status, cause.code, cause.type) == (status, "upstream_error", ErrorType.UPSTREAM)
    assert cause.retry_after_s is not None


@pytest.mark.parametrize("status", [500, 501, 502, 503, 504, 529, 599])
def test_a_5xx_counts_and_moves_on(status: int) -> None:
    verdict = judge_answer(status, VendorError(message="boom"), has_retry_after=False)

    assert not verdict.ends_call
    assert verdict.breaker_counts
    assert verdict.rest is Rest.NOTHING
    assert verdict.problem.code == ErrorCode.UPSTREAM_ERROR
    assert verdict.problem.status is None
    assert verdict.problem.message == f"The upstream failed with status {status}: boom"


def test_a_5xx_without_words_says_its_status() -> None:
    assert judge_answer(500, None, has_retry_after=False).problem.message == "The upstream failed with status 500."


def test_a_503_that_says_when_rests_the_target_instead() -> None:
    verdict = judge_answer(503, None, has_retry_after=True)

    assert verdict.rest is Rest.TARGET
    assert not verdict.breaker_counts


def test_another_5xx_that_says_when_still_counts() -> None:
    assert judge_answer(500, None, has_retry_after=True).breaker_counts


@pytest.mark.parametrize(
    ("status", "word"), [(301, "redirect"), (307, "redirect"), (101, "unexpected"), (600, "unexp")]
)
def test_redirects_and_unknown_statuses_are_upstream_errors_that_do_not_count(status: int, word: str) -> None:
    verdict = judge_answer(status, None, has_retry_after=False)

    assert verdict.problem.code == ErrorCode.UPSTREAM_ERROR
    assert word in verdict.problem.message
    assert not verdict.ends_call
    assert not verdict.breaker_counts


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (VendorError(status=400), 400),
        (VendorError(status=503), 503),
        (VendorError(status=200, code="429"), 429),
        (VendorError(code="400"), 400),
        (VendorError(code="rate_limit_exceeded"), 429),
        (VendorError(code="RESOURCE_EXHAUSTED"), 429),
        (VendorError(code="insufficient_quota"), 429),
        (VendorError(code="context_length_exceeded"), 400),
        (VendorError(code="server_error"), 500),
        (VendorError(code="1302", type="rate_limit_error"), 429),
        (VendorError(code="odd_words", type="invalid_request_error"), 400),
        (VendorError(type="overloaded_error"), 503),
        (VendorError(type="invalid_request_error"), 400),
        (VendorError(code="99999999999999999999"), 500),
        (VendorError(code="٤٠٠"), 500),
        (VendorError(code="odd_words", type="odder_words"), 500),
        (VendorError(), 500),
    ],
)
def test_an_error_inside_a_200_has_a_real_meaning(error: VendorError, status: int) -> None:
    assert meant_status(error) == status


def test_an_error_inside_a_200_is_judged_by_its_meaning() -> None:
    mine = judge_answer(200, VendorError(status=400, type="invalid_request_error"), has_retry_after=False)
    limited = judge_answer(200, VendorError(code="rate_limit_exceeded"), has_retry_after=False)
    away = judge_answer(200, VendorError(status=503), has_retry_after=False)

    assert (mine.ends_call, mine.problem.status) == (True, 400)
    assert (limited.ends_call, limited.rest) == (False, Rest.KEY)
    assert (away.ends_call, away.breaker_counts) == (False, True)


@pytest.mark.parametrize(
    ("status", "error", "code", "kind"),
    [
        (400, VendorError(), "invalid_request", ErrorType.INVALID_REQUEST),
        (404, VendorError(), "not_found", ErrorType.NOT_FOUND),
        (413, VendorError(), "request_too_large", ErrorType.INVALID_REQUEST),
        (415, VendorError(), "unsupported_encoding", ErrorType.INVALID_REQUEST),
        (400, VendorError(code="400"), "invalid_request", ErrorType.INVALID_REQUEST),
        (400, VendorError(code="x" * 65), "invalid_request", ErrorType.INVALID_REQUEST),
        (400, VendorError(code="a b\r\n"), "invalid_request", ErrorType.INVALID_REQUEST),
        (400, VendorError(type="exceed_context_size_error"), "context_length_exceeded", ErrorType.INVALID_REQUEST),
        (404, VendorError(type="NotFoundError"), "not_found", ErrorType.NOT_FOUND),
        (404, VendorError(type="invalid_request_error"), "not_found", ErrorType.INVALID_REQUEST),
    ],
)
def test_what_a_vendor_leaves_out_or_misspells_is_filled_in(
    status: int, error: VendorError, code: str, kind: ErrorType
) -> None:
    cause = judge_answer(status, error, has_retry_after=False).problem

    assert (cause.code, cause.type) == (code, kind)
    assert cause.message


@given(
    st.integers(min_value=100, max_value=999),
    st.builds(
        VendorError,
        status=st.none() | st.integers(min_value=-10, max_value=1000),
        code=st.none() | st.text(max_size=80),
        type=st.none() | st.text(max_size=80),
        message=st.text(max_size=500),
        param=st.none() | st.text(max_size=400),
    ),
    st.booleans(),
    st.booleans(),
)
def test_whatever_a_vendor_says_the_verdict_is_sound(
    status: int, error: VendorError, has_retry_after: bool, of_node: bool
) -> None:
    verdict = judge_answer(status, error, has_retry_after=has_retry_after, of_node=of_node)
    cause = verdict.problem

    assert cause.type in set(ErrorType)
    assert cause.status not in {401, 403}
    assert cause.status is None or 400 <= cause.status < 500
    assert len(cause.message) <= 300
    assert not (verdict.ends_call and verdict.breaker_counts)
    assert not (verdict.breaker_counts and verdict.rest is not Rest.NOTHING)
    assert not (verdict.busy and verdict.loading)
    assert not ((verdict.busy or verdict.loading) and (verdict.ends_call or verdict.breaker_counts))


@pytest.mark.parametrize("status", [201, 204, 206])
def test_another_success_than_200_is_told_by_its_own_number_and_is_no_outage(status: int) -> None:
    verdict = judge_answer(status, VendorError(message="the upstream gave no message"), has_retry_after=False)

    assert (verdict.word, verdict.ends_call, verdict.breaker_counts) == (str(status), False, False)
    assert str(status) in verdict.problem.message


@pytest.mark.parametrize("kind", FailureKind)
def test_only_the_timer_of_the_whole_exchange_is_out_of_time(kind: FailureKind) -> None:
    assert judge_failure(kind, visible=False).out_of_time is (kind is FailureKind.TOTAL_TIMEOUT)
