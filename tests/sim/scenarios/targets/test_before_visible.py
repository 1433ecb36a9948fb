"""What is seen of failures before anything visible is not blind."""

import pytest

from tests.sim.scenarios.targets.worlds_made import doctored, longer, ran, shown

BOTH = pytest.mark.parametrize("level", ["", "-ports"])


@BOTH
def test_a_timer_that_is_late_shows_nothing(level: str) -> None:
    assert shown(f"FV2{level}", longer(ran(f"FV2{level}", 0).journal, "usage", "duration_s", 1.0)) == set()


@BOTH
@pytest.mark.parametrize("name", ["FV1", "FV2", "S11"])
def test_a_client_that_got_another_text_shows_nothing(name: str, level: str) -> None:
    journal = doctored(ran(name + level, 0).journal, "call_ended", text="1.1 2.2 ")
    assert shown(name + level, journal) == set()


@BOTH
@pytest.mark.parametrize("name", ["FV1", "FV2", "S11"])
def test_a_failed_attempt_that_costs_something_shows_nothing(name: str, level: str) -> None:
    journal = doctored(ran(name + level, 0).journal, "usage", completion_tokens=5)
    assert shown(name + level, journal) == set()


@BOTH
def test_a_slot_that_does_not_come_back_shows_nothing(level: str) -> None:
    journal = doctored(ran(f"S11{level}", 0).journal, "lease_released", node="another")
    assert shown(f"S11{level}", journal) == set()
