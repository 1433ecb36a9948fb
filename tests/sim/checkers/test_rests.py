"""I12: who was told to wait is left alone for so long."""

from sim.checkers.i12_forbidden import check
from tests.sim.checkers.story import CLOUD, GATEWAY, NODE, Story, said


def busy(target: str = CLOUD, **asked: str) -> Story:
    """Tell of a call that met a 429 at ten seconds, which said to wait for twenty."""
    story = Story().at(9).sent().asked(1, target, **asked).at(10)
    story.failed(1, target, status=429, retry_after_s=20.0)
    story.usage(target, "failed", http_status=429).record(attempts=f"{target}/=429", status=429)
    return story.begun(status=429).ended(outcome="error", status=429, code="rate_limit_exceeded", text="")


def test_a_vendor_that_is_left_alone_is_right() -> None:
    assert said(check, busy().at(30.5).sent("2").asked(2, call="2")) == []


def test_a_vendor_that_is_asked_while_it_rests_is_found() -> None:
    assert said(check, busy().at(25).sent("2").asked(2, call="2")) == [
        "gw1 asked cloud-a (exchange 2), which had said at 10.000 s to wait for 20 s"
    ]


def test_what_was_on_its_way_is_right() -> None:
    assert said(check, busy().at(11).sent("2").asked(2, call="2")) == []


def test_another_gateway_knows_nothing_of_it() -> None:
    assert said(check, busy().at(25).sent("2", gateway="gw2").asked(2, call="2", gateway="gw2")) == []


def test_another_key_of_the_vendor_may_be_used() -> None:
    story = busy(key="first").setting(f"keys:{CLOUD}", 2)
    assert said(check, story.at(25).sent("2").asked(2, call="2", key="second")) == []


def test_the_key_that_rests_must_not_be_used() -> None:
    story = busy(key="first").setting(f"keys:{CLOUD}", 2)
    assert len(said(check, story.at(25).sent("2").asked(2, call="2", key="first"))) == 1


def test_several_keys_that_nobody_told_apart_cannot_be_judged() -> None:
    story = busy().setting(f"keys:{CLOUD}", 2)
    assert said(check, story.at(25).sent("2").asked(2, call="2")) == []


def test_machines_of_our_own_are_not_rested() -> None:
    assert said(check, busy(NODE).at(25).sent("2").asked(2, NODE, call="2")) == []


def test_a_new_process_knows_nothing_of_it() -> None:
    story = busy().at(15).note("host_crashed", GATEWAY).at(16).note("host_up", GATEWAY)
    assert said(check, story.at(25).sent("2").asked(2, call="2")) == []


def test_an_answer_that_nobody_read_rests_nobody() -> None:
    story = Story().at(9).sent().asked().at(10).left().failed(1, status=429, retry_after_s=20.0)
    story.usage(status="cancelled").record(cancelled=True).ended(outcome="left")
    assert said(check, story.at(25).sent("2").asked(2, call="2")) == []
