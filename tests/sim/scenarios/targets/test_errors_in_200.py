"""What is seen of errors inside a 200 is not blind."""

import pytest

from tests.sim.scenarios.targets.worlds_made import doctored, ran, shown

BOTH = pytest.mark.parametrize("name", ["FV8", "FV8-ports"])


@BOTH
def test_a_context_that_is_too_long_must_reach_the_client(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "call_ended", code="upstream_error")) == set()


@BOTH
def test_one_meaning_alone_is_not_enough(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "fault_active", meant=429)) == set()
