"""Errors in the words a client sees."""

import pytest

from ktms.domain.errors import CallFailed, ErrorCode, ErrorType, problem


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_has_a_type(code: ErrorCode) -> None:
    made = problem(code, "words", param="model", retry_after_s=2.0)

    assert made.type in set(ErrorType)
    assert (made.code, made.message, made.param, made.retry_after_s) == (code.value, "words", "model", 2.0)
    assert made.status is None


def test_an_internal_fault_is_never_an_authentication_error() -> None:
    assert [code for code in ErrorCode if problem(code, "").type == ErrorType.AUTHENTICATION] == [
        ErrorCode.INVALID_API_KEY
    ]


def test_a_failed_call_carries_its_problem() -> None:
    cause = problem(ErrorCode.DRAINING, "shutting down")

    failure = CallFailed(cause)

    assert failure.problem is cause
    assert str(failure) == "draining: shutting down"
