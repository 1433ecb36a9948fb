"""I2: each attempt is settled exactly once."""

import pytest

from sim.checkers.i2_usage import check
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story, said


def test_an_ordinary_call_is_settled() -> None:
    assert said(check, Story().answered().over()) == []


def test_a_retried_call_is_settled_twice() -> None:
    story = Story().sent().asked(1, NODE).failed(1, NODE).usage(NODE, "failed", http_status=502)
    story.asked(2).told(2).usage().record(attempts="local/node-0=502|cloud-a/=ok").begun().ended()
    assert said(check, story.over()) == []


@pytest.mark.parametrize(("prompt_cut", "complaints"), [(True, 0), (False, 1)])
def test_n24_only_an_answer_to_half_of_a_prompt_may_be_given_up_when_it_is_whole(
    prompt_cut: bool, complaints: int
) -> None:
    story = Story().sent().asked(1, NODE).told(1, NODE, prompt_cut=prompt_cut)
    story.usage(NODE, "failed", http_status=200, duration_s=0.5).asked(2).told(2).usage()
    story.record(attempts="local/node-0=truncated|cloud-a/=ok").begun().ended()
    assert len(said(check, story.over())) == complaints


@pytest.mark.parametrize(("agent", "complaints"), [("before it", 0), ("", 2)])
def test_fn3_an_engine_never_sees_what_the_agent_before_it_refuses_while_it_drains(
    agent: str, complaints: int
) -> None:
    story = Story().setting(f"agent:{NODE}", agent).sent().usage(NODE, "failed", http_status=503)
    story.asked(2).told(2).usage().record(attempts="local/node-0=draining|cloud-a/=ok").begun().ended()
    assert len(said(check, story.over())) == complaints


def test_an_exchange_without_an_event_is_found() -> None:
    story = Story().sent().asked().told().begun().record(attempts="").ended().over()
    assert said(check, story) == [
        "gw1 asked cloud-a (exchange 1), no usage event",
        "gw1 asked cloud-a 1 times and settled 0",
    ]


def test_an_exchange_that_died_with_its_gateway_is_excused() -> None:
    story = Story().note("host_up", GATEWAY).at(5).sent().asked().at(6).note("host_crashed", GATEWAY)
    assert said(check, story.told(how="left").begun().ended(outcome="cut").at(60).over()) == []


def test_a_doubled_event_is_found() -> None:
    story = Story().answered().usage(event_id="event-0").over()
    assert "usage event event-0 of gw1 came again from gw1" in said(check, story)


def test_an_attempt_that_was_settled_twice_is_found() -> None:
    story = Story().answered().usage().over()
    assert "gw1 recorded req-1 with attempts at ['cloud-a'], but settled ['cloud-a', 'cloud-a']" in said(
        check, story
    )


def test_an_answer_that_no_target_gave_is_found() -> None:
    story = Story().sent().begun().usage("cloud-b").record(attempts="cloud-b/=ok").ended().over()
    assert said(check, story) == [
        "1 usage events of cloud-b say that it answered, which never saw the call",
        "gw1 settled 1 answers of cloud-b, which it asked 0 times",
    ]


def test_an_attempt_that_never_reached_its_target_is_right() -> None:
    story = Story().sent().usage("cloud-b", "failed", http_status=None).begun()
    story.record(attempts="cloud-b/=refused", status=502).ended(outcome="error", status=502, text="")
    assert said(check, story.over()) == []


def test_targets_that_were_passed_over_need_no_event() -> None:
    story = Story().sent().asked().told().usage().begun()
    story.record(attempts="local/node-0=busy|cloud-b/=resting|cloud-c/=open|cloud-a/=ok").ended()
    assert said(check, story.over()) == []


def test_events_without_a_record_are_found() -> None:
    story = Story().sent().asked().told().usage().begun().ended().over()
    assert said(check, story) == ["gw1 settled req-1, of which it has no record"]


def test_a_request_that_was_sent_once_more_is_one_attempt() -> None:
    story = Story().sent().asked(1).told(1, how="cut", status=0, text="", visible=False, finished=False)
    story.asked(2).told(2).usage().record().begun().ended()
    assert said(check, story.over()) == []


def test_a_request_that_a_reset_killed_is_one_attempt_with_its_repeat() -> None:
    story = Story().sent().asked(1).fault("reset", CLOUD).told(1, how="left", status=0, text="", finished=False)
    story.asked(2).told(2).usage().record().begun().ended()
    assert said(check, story.over()) == []


@pytest.mark.parametrize(
    ("status", "different", "why"),
    [
        ("ok", {"finished": False}, "although the answer was not finished (whole)"),
        ("ok", {"status": 502}, "although the answer was not finished (whole)"),
        ("interrupted", {"visible": False}, "although nothing visible was sent"),
        ("refused", {"status": 502}, "although the target answered 502"),
        ("cancelled", {}, "although its client stayed"),
    ],
)
def test_a_status_that_does_not_fit_is_found(status: str, different: dict[str, bool | int], why: str) -> None:
    story = Story().sent().asked().told(**different).usage(status=status).record().begun().ended().over()
    (what,) = said(check, story)
    assert what.endswith(why)


def test_who_left_was_cancelled() -> None:
    story = Story().sent().begun().asked().at(1).left().told(how="left", finished=False)
    assert said(check, story.usage(status="cancelled").record(cancelled=True).ended(outcome="left").over()) == []


def test_calls_whose_client_saw_no_head_are_counted() -> None:
    story = (
        Story().sent().asked().at(1).left().told(how="left", finished=False).ended(outcome="left", request_id="")
    )
    assert said(check, story.over()) == ["gw1 asked cloud-a 1 times and settled 0"]


def test_an_answer_that_is_given_again_asks_nobody() -> None:
    story = Story().sent().begun().usage("cache", from_cache=True).record(attempts="cache/=hit").ended()
    assert said(check, story.over()) == []


def unbooked(count: int, counted: float) -> Story:
    """Tell of calls that are booked nowhere, and of how many events their gateway counted as lost."""
    story = Story()
    for number in range(1, count + 1):
        name = str(number)
        story.sent(name).asked(number, call=name).begun(name).told(number, call=name).record(name).ended(name)
    return story.answered("kept", exchange=count + 1).note("usage_lost", GATEWAY, amount=counted).over()


def test_fl2_events_that_a_gateway_counted_as_lost_may_be_missing() -> None:
    assert said(check, unbooked(2, 2.0)) == []


def test_fl2_one_more_than_was_counted_is_found_and_it_is_not_the_oldest() -> None:
    assert said(check, unbooked(2, 1.0)) == [
        "gw1 recorded req-2 with attempts at ['cloud-a'], but settled []",
        "gw1 asked cloud-a (exchange 2), no usage event",
        "gw1 asked cloud-a 3 times and settled 1",
    ]


def test_fl2_events_that_were_counted_as_lost_and_are_there_are_found() -> None:
    assert said(check, unbooked(1, 2.0)) == ["gw1 counted 2 usage events as lost, 1 are missing"]
