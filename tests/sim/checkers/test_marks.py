"""Which rare situations a journal reached."""

import pytest

from sim.checkers.marks import hit
from tests.sim.checkers.limits_story import LimitsStory
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story


def error(story: Story, call: str, status: int, code: str) -> Story:
    return story.ended(call, "error", status=status, code=code, text="")


def sampled(buffered_bytes: int) -> Story:
    return Story().note(
        "sample", GATEWAY, tasks=1, connections=1, upstream_open=1, buffered_bytes=buffered_bytes, inflight=1
    )


def broken_stream(how: str) -> Story:
    story = Story().sent().asked().told(how=how, finished=False).begun()
    return story.ended(outcome="error_event", code="stream_interrupted")


def keyed() -> Story:
    return Story().note("key_made", "postgres", key="key-id", name="app")


def draining(call: str) -> Story:
    return Story().sent(call).at(1).note("drain_begun", GATEWAY).at(2)


def renewed(how: str) -> Story:
    return Story().note("lease_renewed", GATEWAY, lease="a", node=NODE, how=how)


STORIES: dict[str, Story] = {
    "call.retried": Story().sent().asked(1, NODE).failed(1, NODE).asked(2).told(2).ended(),
    "call.all_failed": error(Story().sent().asked().failed(1), "1", 502, "upstream_error"),
    "call.left_early": Story().sent().left().ended(outcome="left", text=""),
    "call.left_midway": Story().sent().left().ended(outcome="left"),
    "stream.interrupted": broken_stream("cut"),
    "stream.stalled": broken_stream("silent"),
    "stream.choked": sampled(70_000),
    "breaker.opened": Story().gauge(2),
    "breaker.trial": Story().gauge(2).gauge(1),
    "breaker.trial_lost": Story().gauge(2).gauge(1).gauge(2),
    "rest.told": Story().asked().told(status=429, retry_after_s=3.0),
    "key.refused": error(keyed().sent(key="stranger"), "1", 401, "invalid_api_key"),
    "key.window_used": keyed().sent().note("keys_asked", GATEWAY, ids="key-id", answer="away").begun().ended(),
    "key.window_closed": error(keyed().sent().begun().ended().at(400).sent("2"), "2", 503, "auth_unavailable"),
    "key.revoked_midway": keyed()
    .sent()
    .begun()
    .ended()
    .at(5)
    .note("key_revoked", "postgres", key="key-id")
    .at(6)
    .sent("2"),
    "postgres.away": Story().note("keys_asked", GATEWAY, ids="k", answer="away"),
    "postgres.hung": Story().note("keys_asked", GATEWAY, ids="k", answer="hung"),
    "snapshot.refused": Story().log("snapshot_refused"),
    "snapshot.swapped": Story()
    .sent()
    .at(1)
    .note("gauge", GATEWAY, name="snapshot_version", label="", value=2)
    .at(2)
    .ended(),
    "lease.full": Story().note("lease_refused", GATEWAY, nodes=NODE, slots="1"),
    "lease.regained": renewed("regained"),
    "lease.over": renewed("over"),
    "lease.expired": Story()
    .setting("lease_ttl_s", 15.0)
    .note("lease_taken", GATEWAY, lease="a", node=NODE, slots=1)
    .note("host_crashed", GATEWAY)
    .at(16)
    .over(),
    "queue.waited": Story().record(attempts=f"local/{NODE}=ok", queue_s=0.5),
    "queue.gave_up": Story().record(attempts="local/=busy|cloud-a/=ok", queue_s=0.5),
    "node.suspect": Story().note("gauge", GATEWAY, name="node_health", label=NODE, value=1),
    "node.down": Story().note("gauge", GATEWAY, name="node_health", label=NODE, value=2),
    "node.cold": Story().record(attempts=f"local/{NODE}=cold|cloud-a/=ok"),
    "node.draining": Story().record(attempts=f"local/{NODE}=draining|cloud-a/=ok"),
    "fleet.unknown": Story().record(attempts="local/=unknown|cloud-a/=ok"),
    "probe.distrusted": Story().log("probe_distrusted"),
    "model.loaded": Story().log("model_loading", f"node={NODE} model=x").note("model_loaded", NODE, node=NODE),
    "limit.refused": LimitsStory().refused("a", "requests"),
    "limit.left_back": LimitsStory().settled("a", 0, tokens=0),
    "budget.refused": LimitsStory().refused("a", "month"),
    "budget.uncounted": LimitsStory().unknown("a"),
    "budget.closed": Story().record(attempts="", code="budget_unavailable"),
    "budget.unread": Story().note(
        "quota_unread", GATEWAY, call="a", accounts="key:k1", tokens=1, micros=1, waited_s=0.0
    ),
    "reservation.orphaned": LimitsStory().reserved("a").note("host_crashed", GATEWAY),
    "node.answered": Story().usage(NODE),
    "cloud.answered": Story().usage(CLOUD),
    "drain.waited": draining("1").ended(),
    "drain.cut": error(draining("1"), "1", 503, "draining"),
    "host.crashed": Story().note("host_crashed", GATEWAY),
    "wall.jumped": Story().fault("wall_jump", GATEWAY, amount=3600.0),
    "loop.lagged": Story().fault("lag", GATEWAY, amount=1.0),
    "redis.away": Story().note("dependency_failed", GATEWAY, dependency="redis", operation="ping", failure="away"),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_mark_is_reached(name: str) -> None:
    assert name in list(hit(STORIES[name].journal))


def test_an_ordinary_call_reaches_one_mark() -> None:
    assert list(hit(Story().answered().over().journal)) == ["cloud.answered"]


def test_a_mark_that_was_noted_counts() -> None:
    assert list(hit(Story().note("mark", name="stream.choked").journal)) == ["stream.choked"]


def test_a_mark_that_is_in_no_catalogue_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"\['moon\.full'\]"):
        list(hit(Story().note("mark", name="moon.full").journal))
