"""The choice where a node refuses our token: it fails fast, and would seem the freest of all (N01)."""

from math import inf

import pytest

from ktms.domain.capacity.seat import Health, Seat
from ktms.domain.capacity.selection import explain
from tests.domain.capacity.fleets import ASK, chosen, fleet, names, seat, selector, used


def barred(name: str, *, slots: int = 4, busy: int = 0, told: int = 0, cold: bool = False) -> Seat:
    return seat(name, slots=slots, busy=busy, told=told, cold=cold, health=Health.BARRED)


@pytest.mark.parametrize(
    "other",
    [
        seat("b", slots=4),
        seat("b", slots=4, health=Health.SUSPECT, cold=True),
        seat("b", slots=4, told=4),
    ],
    ids=["sound", "suspect and cold", "full by its word"],
)
def test_whoever_else_has_room_comes_before_a_node_that_refuses_our_token(other: Seat) -> None:
    assert chosen(selector(barred("a"), other)) == "b"


def test_a_call_waits_for_others_rather_than_asking_a_node_that_refuses_our_token() -> None:
    made = selector(barred("a"), seat("b", slots=2, busy=2))
    assert chosen(made) == ""
    assert not made.would_do(ASK, ())
    assert made.able_slots(ASK, (), warm=True) == 2, "its slots are none to wait for"


def test_a_call_that_only_those_that_load_could_take_is_not_sent_to_a_node_that_refuses_our_token() -> None:
    made = selector(barred("a"), seat("b", slots=2, cold=True))
    assert names(made.choose(ASK, (), warm=True)) == ""


@pytest.mark.parametrize("off", [{"health": Health.DOWN}, {"draining": True}, {"window": 10}])
def test_where_nobody_else_could_take_the_call_it_is_asked(off: dict[str, object]) -> None:
    made = selector(barred("a"), seat("b", **off))  # type: ignore[arg-type]  # members of a seat
    assert chosen(made) == "a"
    assert made.would_do(ASK, ())
    assert made.able_slots(ASK, (), warm=True) == 4


def test_who_was_turned_down_by_all_others_asks_it() -> None:
    assert chosen(selector(barred("a"), seat("b", slots=2, busy=1)), refused="b") == "a"


def test_its_leases_are_counted_and_not_what_its_engine_tells() -> None:
    made = selector(barred("a", slots=2, told=9))
    assert used(made, 3) == {"a": 2}
    assert not made.would_do(ASK, ())


def test_of_those_that_refuse_our_token_the_warm_ones_come_first() -> None:
    made = selector(barred("a", cold=True), barred("b"))
    assert (chosen(made), chosen(made, refused="b")) == ("b", "a")
    assert names(selector(barred("a", cold=True)).choose(ASK, (), warm=True)) == ""


def test_in_a_large_fleet_too_they_are_asked_only_where_nobody_else_is_left() -> None:
    many = [*(barred(f"x{place}") for place in range(100)), *fleet(100, busy=4)]
    made = selector(*many)
    assert (chosen(made), made.able_slots(ASK, (), warm=True)) == ("", 400)
    for one in many[100:]:
        one.state.health = Health.DOWN
    made.rank(many)
    assert chosen(made).startswith("x")
    assert made.able_slots(ASK, (), warm=True) == 400


def test_the_record_says_that_it_refuses_our_token() -> None:
    seats = [barred("a"), seat("b", slots=1), barred("c", slots=1, busy=1), seat("d", health=Health.DOWN)]
    assert [one.left_out for one in explain(seats, ASK, (), inf)] == ["barred", None, "barred", "down"]


def test_the_record_counts_leases_where_all_refuse_our_token() -> None:
    found = explain([barred("a", busy=2, told=9), barred("b", slots=1, busy=1)], ASK, (), inf)
    assert [(one.left_out, one.load) for one in found] == [(None, 0.75), ("full", 0)]
