"""I5: no attempt after the first visible byte, each target at most once."""

from sim.checkers.i5_attempts import check
from sim.journal.fact import Value
from tests.sim.checkers.story import CLOUD, NODE, Story, said

DEAD: dict[str, Value] = {"how": "cut", "status": 0, "text": "", "visible": False, "finished": False}
"""What a target tells of a connection that died before its head."""


def test_an_ordinary_call_is_right() -> None:
    assert said(check, Story().answered().over()) == []


def test_a_second_target_after_a_failure_is_right() -> None:
    story = Story().sent().asked(1, NODE).failed(1, NODE).asked(2).told(2).begun()
    assert said(check, story.record(attempts="local/node-0=502|cloud-a/=ok").ended().over()) == []


def test_a_second_target_after_text_of_the_first_is_found() -> None:
    story = Story().sent().asked(1, NODE).told(1, NODE, text="a b c d", how="cut", finished=False).begun()
    story.asked(2).told(2, text="x y").record(attempts="local/node-0=closed|cloud-a/=ok").ended(text="a b c")
    assert said(check, story) == ["cloud-a was asked after the client got text of node-0"]


def test_a_target_asked_after_the_client_saw_text_is_found() -> None:
    story = Story().sent().asked(1, NODE).begun().at(2).note("call_visible", "client", call="1")
    story.at(3).told(1, NODE).asked(2).told(2).record(attempts="local/node-0=closed|cloud-a/=ok").ended()
    assert "cloud-a was asked although the client had text since 2.000 s" in said(check, story)


def test_what_travelled_through_a_black_hole_proves_no_order() -> None:
    story = Story().fault("black_hole", CLOUD).sent().at(60).asked(1, NODE).told(1, NODE).begun()
    story.record(attempts="cloud-a/=first_token_timeout|local/node-0=ok").ended()
    story.fault("black_hole", CLOUD, on=False).asked(2).told(2, how="left", text="", finished=False)
    assert said(check, story.over()) == []


def test_a_target_that_is_asked_twice_is_found() -> None:
    story = Story().sent().asked(1).failed(1).asked(2).told(2).begun()
    story.record(attempts="cloud-a/=502|cloud-a/=ok").ended()
    assert said(check, story) == [
        "gw1 asked cloud-a again (exchange 2) after exchange 1 ended whole with status 502"
    ]


def test_two_models_of_one_vendor_are_two_targets() -> None:
    story = Story().sent().asked(1).failed(1).asked(2, model="other").told(2).begun()
    assert said(check, story.record(attempts="cloud-a/=502|cloud-a/=ok").ended()) == []


def test_a_dead_connection_allows_one_repeat() -> None:
    story = Story().sent().asked(1).told(1, **DEAD).asked(2).told(2).record().begun().ended()
    assert said(check, story) == []


def test_a_dead_connection_allows_no_second_repeat() -> None:
    story = Story().sent().asked(1).told(1, **DEAD).asked(2).told(2, **DEAD).asked(3).told(3)
    assert len(said(check, story.record().begun().ended())) == 2


def test_an_exchange_that_is_not_in_the_record_is_found() -> None:
    story = Story().sent().asked(1, NODE).failed(1, NODE).asked(2).told(2).record().begun().ended()
    assert said(check, story) == ["gw1 asked node-0 1 times and recorded 0 of them"]


def test_more_attempts_than_allowed_are_found() -> None:
    story = Story().setting("attempts_max", 1).record(attempts="local/node-0=502|cloud-b/=open|cloud-a/=ok")
    assert said(check, story) == ["gw1 dialled node-0, cloud-a for req-1; allowed are 1"]
