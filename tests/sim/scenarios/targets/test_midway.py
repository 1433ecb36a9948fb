"""What is seen of streams that break is not blind."""

import pytest

from tests.sim.scenarios.targets.worlds_made import doctored, ran, shown

NAMES = pytest.mark.parametrize("name", ["FV3", "FV3-ports", "FV4", "FV4-ports", "S12", "S12-ports", "S13"])


@NAMES
def test_a_part_that_is_not_settled_shows_nothing(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "usage", completion_tokens=0)) == set()


@NAMES
def test_a_client_that_got_what_nobody_sent_shows_nothing(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "call_ended", text="9.9 ")) == set()


@pytest.mark.parametrize("name", ["FV4", "FV4-ports", "S13"])
def test_an_idle_timer_that_is_late_shows_nothing(name: str) -> None:
    assert shown(name, doctored(ran(name, 0).journal, "setting", value=0.5)) == set()


def test_a_slot_that_does_not_come_back_shows_nothing() -> None:
    assert shown("S13", doctored(ran("S13", 0).journal, "lease_released", node="another")) == set()
