"""What became of the gateways' machines."""

import pytest

from sim.journal.fact import Fact, Value
from sim.journal.hosts import Host


def host(*facts: tuple[float, str], **members: Value) -> Host:
    found = Host()
    for at, kind in facts:
        found.take(Fact(at, kind, "gw1", members))
    return found


def test_a_host_that_nobody_tells_of_is_up() -> None:
    assert not Host().disturbed(0, 1000)


def test_a_host_is_down_between_two_processes() -> None:
    crashed = host((0, "host_up"), (10, "host_crashed"), (20, "host_up"))
    assert [crashed.down(at, at) for at in (5, 15, 25)] == [False, True, False]


@pytest.mark.parametrize(
    ("since", "until", "crashed"), [(0, 9, False), (5, 15, True), (11, 20, True), (13, 20, False)]
)
def test_a_crash_is_felt_for_a_moment(since: float, until: float, crashed: bool) -> None:
    assert host((10, "host_crashed")).crashed(since, until) is crashed


def test_a_process_that_was_stopped_twice_died_like_one_that_crashed() -> None:
    assert host((10, "host_stopped"), clean=False).crashed(9, 11)


def test_a_clean_stop_is_no_crash() -> None:
    stopped = host((0, "drain_begun"), (10, "host_stopped"), clean=True)
    assert (stopped.crashed(9, 11), stopped.leaving(9, 11), stopped.leaving(13, 14)) == (False, True, False)


def test_a_process_leaves_until_it_has_ended() -> None:
    leaving = host((5, "drain_begun"))
    assert (leaving.leaving(0, 4), leaving.leaving(0, 6), leaving.leaving(100, 101)) == (False, True, True)


def test_a_successor_beside_its_predecessor_makes_two() -> None:
    two = host((0, "host_up"), (5, "drain_begun"), (6, "host_up"), (10, "host_stopped"), clean=True)
    assert [two.doubled(at) for at in (3, 7, 11)] == [False, True, False]


def test_a_frozen_host_thaws() -> None:
    frozen = host((10, "fault"), on=True, amount=5.0)
    assert (frozen.stood_still_s(0, 12), frozen.thawed_at(12), frozen.thawed_at(9)) == (2, 15, 9)


def test_what_was_remembered_may_be_gone_after_any_change() -> None:
    crashed = host((10, "host_crashed"))
    assert (crashed.changed(0, 9), crashed.changed(0, 10)) == (False, True)
