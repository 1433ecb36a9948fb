"""Units."""

import pytest

from ktms.domain.units import whole_seconds_up


@pytest.mark.parametrize(("seconds", "whole"), [(-3.0, 1), (0.0, 1), (0.2, 1), (1.0, 1), (1.001, 2), (6.5, 7)])
def test_retry_after_is_rounded_up_and_at_least_one(seconds: float, whole: int) -> None:
    assert whole_seconds_up(seconds) == whole
