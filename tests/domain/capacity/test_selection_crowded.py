"""The choice where engines tell of more calls than there are leases: load that comes from elsewhere."""

from collections import Counter
from math import inf

import pytest

from ktms.domain.capacity import selection as module
from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.selection import Ask, explain
from ktms.domain.catalogue import Selection
from ktms.domain.ids import NodeName
from tests.domain.capacity.fleets import ASK, FR, chosen, fleet, names, picked, seat, selector, used


def test_load_from_elsewhere_lowers_the_weight() -> None:
    assert Counter(picked(selector(seat("a", 4), seat("b", 4, slots=4, told=2)), 7)) == {"a": 4, "b": 3}


def test_load_from_elsewhere_puts_off_the_finish() -> None:
    seats = [seat("a", slots=8, decode=50, told=4), seat("b", slots=8, decode=30)]
    assert chosen(selector(*seats, band=1.0)) == "b"


def test_n09_a_node_that_others_fill_is_not_chosen_while_another_has_room() -> None:
    assert used(selector(seat("a", slots=8, told=8), seat("b", slots=8)), 8) == {"b": 8}


@pytest.mark.parametrize("worse", [{"cold": True}, {"health": Health.SUSPECT}])
def test_room_in_a_worse_class_comes_before_a_node_that_others_fill(worse: dict[str, bool | Health]) -> None:
    assert chosen(selector(seat("a", slots=8, told=8), seat("b", slots=8, **worse))) == "b"  # type: ignore[arg-type]


def test_where_nobody_else_has_room_a_node_with_a_free_slot_is_asked_whatever_it_tells() -> None:
    made = selector(seat("a", slots=2, told=9), seat("b", slots=1, busy=1))
    assert made.would_do(ASK, ())
    assert used(made, 3) == {"a": 2}
    assert not made.would_do(ASK, ())


def test_those_that_are_full_by_their_word_are_weighed_by_their_leases() -> None:
    seats = [seat("a", 4, slots=4, told=4), seat("b", 4, slots=4, busy=2, told=7)]
    assert Counter(picked(selector(*seats), 7)) == {"a": 4, "b": 3}


def test_of_those_that_are_full_by_their_word_the_worst_are_out_of_the_band() -> None:
    seats = [seat("a", slots=4, told=4), seat("b", slots=4, told=40)]
    assert chosen(selector(*seats, band=1.25)) == "a"


def test_those_that_are_full_by_their_word_take_equal_turns_where_turns_are_equal() -> None:
    seats = [seat("a", 9, slots=4, told=4), seat("b", slots=4, told=4)]
    assert Counter(picked(selector(*seats, rule=Selection.ROUND_ROBIN), 4)) == {"a": 2, "b": 2}


def test_the_best_class_of_those_that_are_full_by_their_word_is_asked() -> None:
    seats = [seat("a", slots=4, told=4, health=Health.SUSPECT), seat("b", slots=4, told=4)]
    assert chosen(selector(*seats)) == "b"
    assert chosen(selector(*seats), refused="b") == "a"


def test_a_cold_node_that_others_fill_is_none_of_the_warm_ones() -> None:
    made = selector(seat("a", slots=4, told=4, cold=True))
    assert made.choose(ASK, ()).cold
    assert names(made.choose(ASK, (), warm=True)) == ""
    assert not made.would_do(ASK, ())


@pytest.mark.parametrize("off", [{"draining": True}, {"health": Health.DOWN}, {"window": 10}, {"region": "us"}])
def test_a_node_that_is_full_by_its_word_passes_the_same_filter(off: dict[str, object]) -> None:
    one = seat("a", slots=4, told=4, **off)  # type: ignore[arg-type]  # members of a seat
    ask = Ask(ASK.need_tokens, 500, 250, FR if "region" in off else None)
    assert chosen(selector(one), ask) == ""


def test_in_a_large_fleet_too_those_that_others_fill_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CROWDED_MAX", 2)
    seats = [*fleet(200, busy=4), *(seat(f"c{place}", slots=4, told=4) for place in range(3))]
    made = selector(*seats)
    assert chosen(made) in {"c0c1", "c1c0", "c1c2", "c2c1", "c0c2", "c2c0"}
    seats[7].state.busy = 3
    made.rank(seats)
    assert chosen(made) == "n7"


def test_the_record_says_who_was_passed_over_by_its_engines_word() -> None:
    seats = [seat("a", slots=4, busy=1, told=4), seat("b", slots=4, busy=1, told=2), seat("c", slots=1, busy=1)]
    found = explain(seats, ASK, (), inf)
    assert [one.left_out for one in found] == ["crowded", None, "full"]
    assert [(one.busy, one.taken) for one in found] == [(1, 4), (1, 2), (1, 1)]
    assert [one.load for one in found] == [0, 0.75, 0]


def test_where_nobody_has_room_the_record_weighs_the_leases_alone() -> None:
    seats = [seat("a", 2, slots=4, busy=2, told=4), seat("b", slots=1, busy=1)]
    found = explain(seats, ASK, (), inf)
    assert [(one.left_out, one.load, one.weight) for one in found] == [(None, 0.75, 1.5), ("full", 0, 0)]


def test_asking_those_that_others_fill_keeps_the_sum_of_credits() -> None:
    made = selector(*(seat(name, place + 1, slots=4, told=place * 2) for place, name in enumerate("abcd")))
    used(made, 16)
    assert sum(made.credit(NodeName(name)) for name in "abcd") == pytest.approx(0, abs=1e-9)
