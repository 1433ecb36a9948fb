"""I9: records and gauges equal what happened."""

import pytest

from sim.checkers.i9_books import check
from tests.sim.checkers.story import GATEWAY, Story, said


def test_an_ordinary_call_is_in_the_books() -> None:
    assert said(check, Story().answered().over()) == []


def test_a_second_record_is_found() -> None:
    story = Story().answered().sent("2").record().over()
    assert said(check, story) == ["req-1 was recorded 2 times, by gw1 and gw1"]


def test_a_missing_record_is_found() -> None:
    story = Story().sent().begun().at(1).ended().at(10).over()
    assert said(check, story) == ["gw1 has no record of req-1, which ended done"]


def test_a_record_that_died_with_its_gateway_is_excused() -> None:
    story = Story().note("host_up", GATEWAY).at(5).sent().begun().at(6).note("host_crashed", GATEWAY)
    assert said(check, story.ended(outcome="cut").at(90).over()) == []


def test_a_record_of_a_call_that_nobody_sent_is_found() -> None:
    story = Story().answered().record("2").over()
    assert said(check, story) == ["gw1 has 2 records; 1 calls were sent to it"]


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ({"status": 502}, "recorded 502, None"),
        ({"code": "upstream_error"}, "recorded 200, upstream_error"),
        ({"cancelled": True}, "recorded 200, None, cancelled"),
    ],
)
def test_a_record_that_says_something_else_than_the_client_saw_is_found(
    recorded: dict[str, str | int | bool], told: str
) -> None:
    (what,) = said(check, Story().sent().begun().record(**recorded).ended().over())
    assert what == f"its client saw status 200 and code None, gw1 {told}"


def test_a_code_that_a_vendor_made_up_may_be_hidden() -> None:
    story = Story().sent().begun(status=422).record(status=422, code="vendors_own")
    assert said(check, story.ended(outcome="error", status=422, code="odd").over()) == []


def test_a_code_of_our_own_must_not_be_hidden() -> None:
    story = Story().sent().begun(status=503).record(status=503, code="vendors_own")
    assert len(said(check, story.ended(outcome="error", status=503, code="draining").over())) == 1


def test_a_client_that_left_may_be_recorded_otherwise() -> None:
    story = Story().sent().begun().left().record(status=499, cancelled=True).ended(outcome="left")
    assert said(check, story.over()) == []


def test_a_call_that_another_gateway_recorded_is_found() -> None:
    story = Story().sent(gateway="gw2").begun().record().ended().over()
    assert "sent to gw2, recorded by gw1" in said(check, story)


def test_a_negative_count_is_found() -> None:
    story = Story().note("sample", GATEWAY, tasks=1, connections=0, upstream_open=0, buffered_bytes=0, inflight=-1)
    assert said(check, story) == ["gw1 has inflight -1"]


@pytest.mark.parametrize("values", [(2, 1, 0), (2, 1, 2, 1, 0, 2)])
def test_a_breaker_that_moves_as_it_can_is_right(values: tuple[int, ...]) -> None:
    story = Story()
    for value in values:
        story.gauge(value)
    assert said(check, story) == []


@pytest.mark.parametrize(("values", "move"), [((1,), "0 to 1"), ((2, 0), "2 to 0")])
def test_a_breaker_that_moves_as_it_cannot_is_found(values: tuple[int, ...], move: str) -> None:
    story = Story()
    for value in values:
        story.gauge(value)
    assert said(check, story) == [f"gw1 moved the breaker of cloud-a from {move}"]


def test_a_new_process_begins_with_closed_breakers() -> None:
    assert said(check, Story().gauge(2).note("host_up", GATEWAY).gauge(2)) == []


@pytest.mark.parametrize("member", [{"attempts": "cache/=hit"}, {"attempts": "", "replayed": True}])
def test_a_good_answer_may_be_one_that_is_given_again(member: dict[str, str | bool]) -> None:
    assert said(check, Story().sent().begun().record(**member).ended()) == []


def test_a_good_answer_of_nobody_is_found() -> None:
    assert len(said(check, Story().sent().begun().record(attempts="").ended())) == 1
