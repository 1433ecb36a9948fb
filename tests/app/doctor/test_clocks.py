import pytest

from ktms.app.doctor.clocks import SKEW_MAX_S, clock_finding
from ktms.app.doctor.finding import Finding, Verdict


def found(theirs_s: float, *, took_s: float = 0.0) -> Finding:
    """Judge a clock that was asked at 1000 by ours."""
    return clock_finding("redis", theirs_s, 1000.0, 1000.0 + took_s)


def test_a_clock_in_step_is_fine() -> None:
    assert found(1000.0 + SKEW_MAX_S).verdict is Verdict.OK


@pytest.mark.parametrize(("theirs_s", "said"), [(1030.0, "30.0 s ahead of"), (940.0, "60.0 s behind")])
def test_a_clock_that_is_off_is_told_with_its_direction(theirs_s: float, said: str) -> None:
    finding = found(theirs_s)
    assert (finding.verdict, finding.subject) == (Verdict.WARNING, "clock of redis")
    assert finding.text.startswith(said)


def test_a_slow_answer_is_not_taken_for_a_clock_that_is_off() -> None:
    assert found(1000.0, took_s=10.0).verdict is Verdict.OK
