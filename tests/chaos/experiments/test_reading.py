from chaos.experiments.reading import (
    after_fault,
    answered_by,
    calls_of,
    ended,
    good,
    in_fault,
    looks,
    placed,
    told,
)
from chaos.stand.client_keys import STRANGER
from tests.chaos.experiments.story import RunStory


def test_calls_are_told_apart_by_the_moment_they_were_sent() -> None:
    story = RunStory()
    before, during, late = (story.call(at) for at in (9.9, 15.0, 23.5))
    broken = story.over()
    assert [call.name for call in calls_of(broken, since_s=-60.0, until_s=0.0)] == [before]
    assert [call.name for call in in_fault(broken)] == [during]
    assert [call.name for call in after_fault(broken, 3.0)] == [late]


def test_strangers_and_stale_connections_say_nothing_of_a_fault() -> None:
    story = RunStory()
    story.call(11.0, "error", status=503, key=STRANGER)
    story.call(12.0, "refused", status=0, code="stale")
    assert in_fault(story.over()) == []


def test_calls_are_told_apart_by_what_they_asked_and_got() -> None:
    story = RunStory()
    node = story.call(11.0, by="node-0", placement="nodes_only")
    cloud = story.call(12.0, by="cloud-a")
    refused = story.call(13.0, "error", status=503, code="node_state_unknown", placement="nodes_only")
    broken = story.over()
    calls = ended(in_fault(broken))
    assert [call.name for call in placed(calls, "nodes_only")] == [node, refused]
    assert [call.name for call in good(calls)] == [node, cloud]
    assert [call.name for call in answered_by(broken, calls, "cloud")] == [cloud]
    assert [call.name for call in told(calls, "node_state_unknown")] == [refused]


def test_looks_are_told_apart_by_moment_and_replica() -> None:
    story = RunStory()
    story.ready(11.0)
    story.ready(12.0, 503, "unready", "gw2")
    broken = story.over()
    assert [fact.host for fact in looks(broken, 10.0, 20.0)] == ["gw1", "gw2"]
    assert [fact.at for fact in looks(broken, 11.5, 20.0, "gw2")] == [12.0]
