import pytest

from ktms.api.status_table import STATUS_OF, status_of
from ktms.domain.errors import ErrorCode, Problem, problem


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_has_an_error_status(code: ErrorCode) -> None:
    assert 400 <= status_of(problem(code, "x")) <= 504


def test_an_internal_fault_is_never_a_401() -> None:
    assert [code for code, status in STATUS_OF.items() if status == 401] == [ErrorCode.INVALID_API_KEY]
    assert status_of(problem(ErrorCode.AUTH_UNAVAILABLE, "x")) == 503


def test_a_vendors_own_status_is_kept() -> None:
    assert status_of(Problem("content_filter", "invalid_request_error", "x", status=422)) == 422


def test_a_code_nobody_knows_is_our_mistake() -> None:
    assert status_of(Problem("what", "ever", "x")) == 500
