"""I8: after the healing nothing is left over."""

import pytest

from sim.checkers.i8_quiet import check
from tests.sim.checkers.story import CLOUD, GATEWAY, Story, said

AT_REST = {
    "tasks": 5,
    "connections": 0,
    "upstream_open": 1,
    "upstream_idle": 1,
    "inflight": 0,
    "leases": 0,
    "ready": True,
}


def rested(**different: int | bool) -> Story:
    story = Story().note("host_up", GATEWAY).at(5)
    story.note("sample", GATEWAY, tasks=5, connections=0, upstream_open=0, buffered_bytes=0, inflight=0)
    return story.at(400).phase("quiet").note("quiet", GATEWAY, **(AT_REST | different)).over()


def test_a_gateway_at_rest_is_right() -> None:
    assert said(check, rested()) == []


@pytest.mark.parametrize(
    ("different", "why"),
    [
        ({"inflight": 1}, "inflight 1"),
        ({"leases": 2}, "leases 2"),
        ({"connections": 1}, "connections 1"),
        ({"upstream_open": 2}, "2 upstream connections, 1 idle"),
        ({"ready": False}, "not ready"),
        ({"tasks": 6}, "6 tasks, 5 are enough"),
    ],
)
def test_whatever_is_left_over_is_found(different: dict[str, int | bool], why: str) -> None:
    assert said(check, rested(**different)) == [f"gw1 is not at rest: {why}"]


def test_a_gateway_that_is_starting_says_nothing_about_an_idle_one() -> None:
    story = rested().at(500).note("host_stopped", GATEWAY, clean=True).at(510)
    story.note("sample", GATEWAY, tasks=1, connections=0, upstream_open=0, buffered_bytes=0, inflight=0)
    assert said(check, story) == []


def test_a_gateway_that_nobody_saw_at_rest_is_found() -> None:
    story = rested().note("host_up", "gw2")
    assert said(check, story) == ["gw2 was not seen at rest"]


@pytest.mark.parametrize("name", ["tasks", "connections"])
def test_what_a_stopped_gateway_left_is_found(name: str) -> None:
    story = rested().note("left_over", GATEWAY, **({"tasks": 0, "connections": 0} | {name: 3}))
    assert said(check, story) == [f"gw1 has stopped and left 3 {name}"]


def test_a_call_after_the_healing_that_reached_nobody_is_found() -> None:
    story = Story().phase("quiet").sent().ended(outcome="error", status=503, code="auth_unavailable", text="")
    assert said(check, story.over()) == ["gw1 asked nobody for it after the healing: error 503 auth_unavailable"]


def test_a_call_after_the_healing_that_was_answered_is_right() -> None:
    assert said(check, Story().phase("quiet").answered().over()) == []


def left_at_ten(told_at: float) -> Story:
    story = Story().sent().begun().asked().at(10).left(how="rst").ended(outcome="left")
    return story.at(told_at).told(how="left", finished=False)


def test_a_target_that_hears_at_once_is_right() -> None:
    assert said(check, left_at_ten(11)) == []


def test_a_target_that_works_on_for_nobody_is_found() -> None:
    assert said(check, left_at_ten(15)) == [
        "cloud-a worked until 15.000 s (left), its client left gw1 at 10.000 s"
    ]


def test_a_target_that_works_on_to_its_end_is_found_too() -> None:
    story = Story().sent().begun().asked().at(10).left().ended(outcome="left").at(15).told()
    assert len(said(check, story)) == 1


def test_a_target_that_never_heard_is_found() -> None:
    story = Story().sent().begun().asked().at(10).left().ended(outcome="left").at(100).over()
    assert said(check, story) == ["cloud-a worked until the end, its client left gw1 at 10.000 s"]


def test_a_client_that_vanished_tells_nobody() -> None:
    story = Story().sent().begun().asked().at(10).left(how="vanish").ended(outcome="left").at(70).told(how="left")
    assert said(check, story) == []


def test_word_takes_its_time_through_a_black_hole() -> None:
    story = Story().sent().begun().asked().at(9).fault("black_hole", CLOUD)
    assert said(check, story.at(10).left().ended(outcome="left").at(15).told(how="left")) == []


def test_a_gateway_that_stands_still_passes_no_word_on() -> None:
    story = Story().sent().begun().asked().at(9).fault("lag", GATEWAY, amount=6.0)
    assert said(check, story.at(10).left().ended(outcome="left").at(15).told(how="left")) == []


def test_a_slot_that_the_store_still_counts_is_found() -> None:
    story = rested()
    assert said(check, story.note("slots_seen", node="node-0", busy=1)) == ["node-0 has 1 slots in use at rest"]


@pytest.mark.parametrize(("seen_at", "found"), [(405, []), (411, ["node-0 has 1 slots in use at rest"])])
def test_a_slot_may_still_drain(seen_at: float, found: list[str]) -> None:
    story = Story().note("host_up", GATEWAY).at(400).note("lease_released", node="node-0", lease="a", drain_s=10.0)
    story = story.phase("quiet").at(seen_at)
    assert said(check, story.note("slots_seen", node="node-0", busy=1)) == found


def test_a_waiter_that_the_store_still_counts_is_found() -> None:
    story = rested()
    assert said(check, story.note("waiters_seen", model="m", waiting=2)) == ["m has 2 waiters at rest"]


def test_slots_are_used_before() -> None:
    assert said(check, Story().note("slots_seen", node="node-0", busy=1)) == []


def test_a_model_may_still_be_loaded_beside() -> None:
    story = Story().note("host_up", GATEWAY).at(399).asked(1, "node-0", call="")
    story.at(400).phase("quiet").note("quiet", GATEWAY, **(AT_REST | {"upstream_open": 2})).over()
    assert said(check, story) == []


def test_a_proof_that_is_under_way_holds_its_slot() -> None:
    story = Story().note("host_up", GATEWAY).at(399).asked(1, "node-0", call="")
    story.at(400).phase("quiet").note("quiet", GATEWAY, **(AT_REST | {"upstream_open": 2, "leases": 1}))
    story.note("slots_seen", node="node-0", busy=1).note("slots_seen", node="node-1", busy=1).over()
    assert said(check, story) == ["node-1 has 1 slots in use at rest"]


def test_a_load_that_was_lost_on_its_way_may_still_be_waited_for() -> None:
    story = Story().note("host_up", GATEWAY).at(300).fault("power_off", "node-0").at(302)
    story.log("model_loading", "node=node-0 model=m").at(310).fault("power_off", "node-0", on=False)
    story.at(400).phase("quiet").note("quiet", GATEWAY, **(AT_REST | {"upstream_open": 2})).over()
    assert said(check, story) == []


def test_what_stays_reserved_is_found_once_somebody_has_reserved() -> None:
    story = rested().note("quota_seen", account="key:k1", running=1, settled=5, reserved=9)
    assert said(check, story) == []
    story.note("quota_reserved", GATEWAY, call="a", accounts="key:k1", tokens=1, micros=1, waited_s=0.0)
    assert said(check, story) == ["key:k1 has 1 calls and 9 micro-dollars reserved at rest"]
