"""I7: tasks, connections and buffers are bounded."""

import pytest

from sim.checkers.i7_bounds import check
from tests.sim.checkers.story import GATEWAY, Story, said

IDLE = {"tasks": 5, "connections": 0, "upstream_open": 0, "buffered_bytes": 0, "inflight": 0}


def sampled(story: Story, **different: int) -> Story:
    return story.note("sample", GATEWAY, **(IDLE | different))


def test_an_idle_gateway_is_right() -> None:
    assert said(check, sampled(Story())) == []


def test_a_busy_gateway_is_right() -> None:
    story = Story().sent()
    assert said(check, sampled(story, tasks=10, connections=1, upstream_open=1, inflight=1)) == []


@pytest.mark.parametrize("name", ["tasks", "connections", "upstream_open", "inflight"])
def test_a_leak_is_found(name: str) -> None:
    (what,) = said(check, sampled(Story(), **{name: 51 if name == "tasks" else 11}))
    assert what.startswith(f"gw1 has {name}")


def test_a_buffer_that_grows_without_end_is_found() -> None:
    story = sampled(Story().sent(), connections=1, buffered_bytes=700_000)
    assert said(check, story) == ["gw1 has buffered_bytes 700000, at most 589824 can be explained"]


def test_connections_of_calls_that_ended_long_ago_are_found() -> None:
    story = Story()
    for call in range(20):
        story.sent(str(call)).ended(str(call))
    assert said(check, sampled(story.at(10), connections=20)) == []
    assert len(said(check, sampled(story.at(400), connections=20))) == 1


def test_idle_connections_to_targets_are_explained_by_attempts_of_late() -> None:
    story = Story()
    for call in range(20):
        story.usage("cloud-a", "ok", str(call))
    assert said(check, sampled(story.at(30), upstream_open=20)) == []
    assert len(said(check, sampled(story.at(60), upstream_open=20))) == 1


def test_one_idle_connection_to_each_machine_of_ours_is_explained() -> None:
    story = Story()
    for number in range(20):
        story.setting(f"slots:node-{number}", 1)
    assert said(check, sampled(story, upstream_open=30)) == []
    assert len(said(check, sampled(story, upstream_open=31))) == 1


def test_a_stalled_client_that_holds_its_target_is_found() -> None:
    story = Story().setting("call_total_s", 30.0).setting("client_stall_s", 5.0).sent().asked().begun()
    story.at(1).note("client_stalled", "client", call="1").at(100).told(how="left", finished=False)
    assert said(check, story) == ["gw1 held cloud-a for 99 s after the client stopped reading, allowed are 65 s"]


def test_a_stalled_client_that_is_cut_is_right() -> None:
    story = Story().sent().asked().begun().at(1).note("client_stalled", "client", call="1")
    assert said(check, story.at(62).told(how="left", finished=False).ended(outcome="cut")) == []


def test_a_stalled_client_that_is_never_cut_is_found() -> None:
    story = Story().sent().at(1).note("client_stalled", "client", call="1").at(2000).ended(outcome="cut")
    assert said(check, story) == ["its client stopped reading and was never cut"]


def test_calls_that_wait_for_a_gateway_that_stands_still_explain_its_tasks() -> None:
    story = Story().fault("lag", GATEWAY, amount=6.0)
    for call in range(10):
        story.sent(str(call))
    assert said(check, sampled(story.at(3), tasks=90)) == []
    assert len(said(check, sampled(story.at(9), tasks=90))) == 1
