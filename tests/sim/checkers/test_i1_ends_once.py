"""I1: every call ends once, in time, as documented."""

import pytest

from sim.checkers.i1_ends_once import check
from tests.sim.checkers.story import GATEWAY, Story, said


def test_an_ordinary_call_is_right() -> None:
    assert said(check, Story().answered().over()) == []


def test_a_call_that_never_ends_is_found() -> None:
    (what,) = said(check, Story().sent().at(20).over())
    assert what == "sent to gw1 at 0.000 s, never ended"


def test_a_call_under_way_when_the_run_stops_is_no_violation() -> None:
    assert said(check, Story().sent().at(20).sent("2")) == []


def test_a_call_far_beyond_its_deadline_is_found_before_the_run_is_over() -> None:
    story = Story().setting("call_total_s", 30.0).sent().at(70).log("tick")
    assert said(check, story) == ["sent to gw1 at 0.000 s, never ended"]


def test_a_client_that_vanished_need_not_see_an_end() -> None:
    assert said(check, Story().sent().at(1).left(how="vanish").at(2000).over()) == []


def test_a_second_end_is_found() -> None:
    story = Story().answered().ended(outcome="error_event", code="upstream_error").over()
    assert said(check, story) == ["ended 2 times: done, error_event"]


def test_an_end_without_a_beginning_is_found() -> None:
    assert said(check, Story().ended().over()) == ["was sent 0 times"]


def test_a_late_end_is_found() -> None:
    story = Story().setting("call_total_s", 30.0).sent().at(61).ended().over()
    assert said(check, story) == ["done after 61.000 s on gw1, allowed are 60 s"]


def test_the_time_its_gateway_stood_still_is_no_delay() -> None:
    story = Story().setting("call_total_s", 30.0).sent().fault("lag", GATEWAY, amount=5.0).at(61).ended().over()
    assert said(check, story) == []


def test_a_client_that_reads_slowly_may_take_its_time() -> None:
    story = Story().setting("call_total_s", 30.0).sent(manner="slow").at(90).ended().over()
    assert said(check, story) == []


def test_an_outcome_nobody_documented_is_found() -> None:
    (what,) = said(check, Story().sent().ended(outcome="shrug").over())
    assert "shrug" in what


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        ("error", 503, "draining"),
        ("error", 504, "upstream_timeout"),
        ("error", 429, "rate_limit_exceeded"),
        ("error_event", 200, "stream_interrupted"),
        ("whole", 200, ""),
    ],
)
def test_documented_ends_are_right(outcome: str, status: int, code: str) -> None:
    assert said(check, Story().sent().ended(outcome=outcome, status=status, code=code).over()) == []


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        ("error", 500, "internal_error"),
        ("error", 503, "upstream_timeout"),
        ("error", 418, "teapot"),
        ("error_event", 200, "internal_error"),
        ("error_event", 502, "stream_interrupted"),
        ("done", 200, "upstream_error"),
        ("whole", 204, ""),
    ],
)
def test_ends_that_nobody_documented_are_found(outcome: str, status: int, code: str) -> None:
    assert len(said(check, Story().sent().ended(outcome=outcome, status=status, code=code).over())) == 1


def test_a_vendors_own_refusal_is_passed_on() -> None:
    story = Story().sent().asked().told(status=422, text="").ended(outcome="error", status=422, code="odd").over()
    assert said(check, story) == []


def test_a_vendors_refusal_of_our_account_is_never_passed_on() -> None:
    story = Story().sent().asked().told(status=402, text="").ended(outcome="error", status=402, code="odd").over()
    assert len(said(check, story)) == 1


@pytest.mark.parametrize("outcome", ["cut", "refused"])
def test_an_end_without_a_word_of_a_healthy_gateway_is_found(outcome: str) -> None:
    story = Story().note("host_up", GATEWAY).at(10).sent().at(11).ended(outcome=outcome, status=0).over()
    assert len(said(check, story)) == 1


@pytest.mark.parametrize(
    ("fate", "outcome", "complaints"),
    [("host_crashed", "cut", 0), ("drain_begun", "refused", 0), ("drain_begun", "cut", 1)],
)
def test_a_gateway_that_dies_ends_calls_without_a_word_and_one_that_leaves_does_not(
    fate: str, outcome: str, complaints: int
) -> None:
    story = Story().note("host_up", GATEWAY).at(10).sent().at(11).note(fate, GATEWAY)
    status = 200 if outcome == "cut" else 0
    assert len(said(check, story.ended(outcome=outcome, status=status).over())) == complaints


def test_a_gateway_that_stood_still_may_refuse() -> None:
    story = Story().fault("lag", GATEWAY, amount=12.0).at(1).sent().at(13).ended(outcome="refused", status=0)
    assert said(check, story.over()) == []


def test_a_client_that_does_not_read_may_be_cut() -> None:
    story = Story().sent().at(1).note("client_stalled", "client", call="1").at(70).ended(outcome="cut").over()
    assert said(check, story) == []


def test_a_stale_connection_is_no_refusal_while_nobody_was_asked() -> None:
    stale = Story().sent().ended(outcome="refused", status=0, code="stale")
    assert said(check, stale.over()) == []


def test_a_stale_connection_is_no_excuse_once_a_target_was_asked() -> None:
    story = Story().sent().asked().told().ended(outcome="refused", status=0, code="stale").over()
    assert len(said(check, story)) == 1


def test_an_internal_error_in_the_log_is_found() -> None:
    assert said(check, Story().answered().log("internal_error", "kind=KeyError").over()) == [
        "gw1 logged an internal error: kind=KeyError"
    ]


def test_an_internal_error_that_no_client_saw_is_found_in_its_record() -> None:
    assert said(check, Story().record(status=500, code="internal_error").over()) == [
        "gw1 recorded req-1 as internal error"
    ]


@pytest.mark.parametrize(("odd", "complaints"), [(True, 0), (False, 1)])
def test_only_an_odd_request_may_be_told_that_there_is_no_such_route(odd: bool, complaints: int) -> None:
    story = Story().sent(odd=odd).ended("1", "error", status=404, code="not_found").over()
    assert len(said(check, story)) == complaints
