"""Which node takes a call: the filter, the classes, the band, the turns."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity import selection as module
from ktms.domain.capacity.ranking import SHORTLIST_MAX, WISHES_MAX
from ktms.domain.capacity.seat import Health, NodeState, Seat
from ktms.domain.capacity.selection import Ask, Selector
from ktms.domain.catalogue import Selection
from ktms.domain.ids import NodeName, Region
from tests.domain.capacity.fleets import (
    ASK,
    FR,
    MODEL,
    chosen,
    fleet,
    names,
    picked,
    seat,
    selector,
    used,
    weighted,
)


def test_a_full_node_is_passed_over() -> None:
    assert chosen(selector(seat("a", slots=2, busy=2), seat("b"))) == "b"


@pytest.mark.parametrize(("window", "found"), [(999, "b"), (1000, "ab"), (None, "ab")])
def test_a_window_must_hold_the_call_unless_it_is_unknown(window: int | None, found: str) -> None:
    assert chosen(selector(seat("a", window=window), seat("b"))) == found


def test_only_the_allowed_regions_are_asked() -> None:
    made = selector(seat("a", region="fr"), seat("b", region="us"), seat("c"))

    assert chosen(made, Ask(1000, 500, 250, FR)) == "a"
    assert chosen(made) == "abc"


def test_a_node_that_drains_is_left_alone() -> None:
    assert chosen(selector(seat("a", draining=True), seat("b"))) == "b"


def test_a_node_that_is_down_is_left_alone() -> None:
    assert chosen(selector(seat("a", health=Health.DOWN), seat("b"))) == "b"


def test_a_node_that_refused_is_not_asked_again() -> None:
    assert chosen(selector(seat("a"), seat("b")), refused="a") == "b"


def test_classes_are_asked_from_the_best_one_on() -> None:
    seats = [
        seat("a", health=Health.SUSPECT, cold=True),
        seat("b", health=Health.SUSPECT),
        seat("c", cold=True),
        seat("d"),
    ]
    made = selector(*seats)

    assert [chosen(made, refused=refused) for refused in ("", "d", "dc", "dcb", "dcba")] == [
        "d",
        "c",
        "b",
        "a",
        "",
    ]


def test_a_choice_says_whether_its_class_is_a_cold_one() -> None:
    made = selector(seat("a", cold=True), seat("b"))

    assert not made.choose(ASK, ()).cold
    assert made.choose(ASK, {NodeName("b")}).cold


def test_n01_a_node_that_fails_fast_attracts_nothing_once_it_is_suspect() -> None:
    bad, good = seat("a"), seat("b")
    made, found = selector(bad, good), ""
    for _ in range(100):
        name = picked(made, 1)
        bad.state.health = Health.SUSPECT if name == "a" else bad.state.health
        found += name

    assert found.count("b") >= 95


def test_n02_equal_nodes_take_turns() -> None:
    assert Counter(picked(selector(seat("a"), seat("b"), seat("c")), 9)) == {"a": 3, "b": 3, "c": 3}


def test_n02_replicas_begin_at_different_places() -> None:
    first = [picked(selector(seat("a"), seat("b"), seat("c"), spin=spin), 1) for spin in range(3)]

    assert first == ["a", "b", "c"]


def test_a_spin_is_nothing_where_nobody_is_free() -> None:
    assert chosen(selector(seat("a", slots=1, busy=1), spin=3)) == ""


def test_n07_turns_outlive_the_objects_that_stand_for_a_node() -> None:
    made, found = selector(*weighted("5,1,1")), ""
    for _ in range(14):
        found += picked(made, 1)
        made.rank(weighted("5,1,1"))

    assert found == "aabacaa" * 2


def test_a_node_that_was_away_begins_at_zero() -> None:
    a, b, c = weighted("5,1,1")
    made = selector(a, b, c)
    picked(made, 2)
    made.rank([b, c])
    made.rank([a, b, c])

    assert made.credit(NodeName("a")) == 0
    assert sum(made.credit(NodeName(name)) for name in "abc") == pytest.approx(0)


def test_nobody_knows_the_credit_of_a_stranger() -> None:
    assert selector().credit(NodeName("z")) == 0


def test_a_choice_that_is_not_charged_changes_nothing() -> None:
    made = selector(*weighted("5,1,1"))

    assert {chosen(made) for _ in range(9)} == {"abc"}


def test_the_node_that_granted_is_charged_not_the_first() -> None:
    made = selector(*weighted("1,1,1"))
    made.charge(made.choose(ASK, ()), NodeName("b"))

    assert picked(made, 2) == "ac"


def test_a_choice_is_charged_once() -> None:
    made = selector(*weighted("1,1"))
    choice = made.choose(ASK, ())
    made.charge(choice, NodeName("a"))
    made.charge(choice, NodeName("a"))

    assert made.credit(NodeName("a")) == -made.credit(NodeName("b")) == -0.25


def test_a_choice_of_nobody_may_be_charged() -> None:
    made = selector()
    choice = made.choose(ASK, ())
    made.charge(choice, NodeName("a"))

    assert names(choice) == ""


def test_load_and_speed_shift_the_turns() -> None:
    fast, loaded = seat("a", 4), seat("b", 4, slots=4, busy=2)
    fast.speed = 2.0

    assert Counter(picked(selector(fast, loaded), 11)) == {"a": 8, "b": 3}


def test_busy_counts_are_read_at_every_choice() -> None:
    a, b = seat("a", slots=2), seat("b", slots=2)
    made = selector(a, b)
    a.state.busy = 2

    assert chosen(made) == "b"
    a.state.busy, b.state.draining = 0, True
    assert chosen(made) == "a"
    a.cold = True
    assert made.choose(ASK, ()).cold


def test_those_who_would_finish_too_late_are_outside_of_the_band() -> None:
    seats = [seat("a", 1, decode=50), seat("b", 100, decode=30), seat("c", 1, decode=48)]

    assert sorted(chosen(selector(*seats, band=1.25))) == ["a", "c"]


def test_without_a_band_weight_alone_decides() -> None:
    assert chosen(selector(seat("a", 1, decode=50), seat("b", 100, decode=30)))[0] == "b"


def test_the_band_counts_those_that_run() -> None:
    fast, slow = seat("a", slots=8, decode=50), seat("b", slots=8, decode=30)
    made = selector(fast, slow, band=1.0)

    assert chosen(made) == "a"
    fast.state.busy = 4
    assert chosen(made) == "b"


def test_a_call_without_a_size_has_everybody_in_the_band() -> None:
    assert chosen(selector(seat("a", decode=50), seat("b", decode=1), band=1.0), Ask(0, 0, 0)) == "ab"


def test_round_robin_knows_neither_weight_nor_band() -> None:
    seats = [seat("a", 9, decode=90), seat("b", 1, slots=8, busy=7), seat("c", 1, decode=1)]

    assert picked(selector(*seats, band=1.0, rule=Selection.ROUND_ROBIN), 7) == "abcabca"


def test_at_most_so_many_are_asked_in_one_go() -> None:
    assert len(selector(*fleet(20)).choose(ASK, ()).seats) == WISHES_MAX


def test_where_none_is_free_it_says_who_could_take_the_call() -> None:
    made = selector(
        seat("a", slots=2, busy=2),
        seat("b", slots=3, busy=3),
        seat("c", slots=4, busy=4, window=10),
        seat("d", slots=5, busy=5, health=Health.DOWN),
        seat("e", slots=6, busy=6, draining=True),
    )
    choice = made.choose(ASK, {NodeName("b")})

    assert (choice.seats, choice.able, choice.able_slots) == ((), 1, 2)


def test_who_could_take_the_call_is_said_of_free_fleets_too() -> None:
    choice = selector(seat("a", slots=2), seat("b", slots=3, busy=3)).choose(ASK, ())

    assert (choice.able, choice.able_slots) == (2, 5)


def test_an_empty_fleet_has_nobody() -> None:
    choice = selector().choose(ASK, ())

    assert (choice.seats, choice.able, choice.able_slots) == ((), 0, 0)


def test_kinds_of_call_are_bounded_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RANKINGS_MAX", 2)
    made = selector(seat("a", region="fr"))
    for region in ("fr", "us", "fr"):
        made.choose(Ask(0, 0, 0, frozenset({Region(region), Region("de")})), ())
        made.choose(Ask(0, 0, 0, frozenset({Region(region)})), ())

    assert repr(made) == "Selector(seats=1, rankings=2)"


def test_kinds_of_call_that_are_no_longer_asked_are_forgotten() -> None:
    made = selector(seat("a", window=100))
    made.choose(Ask(50, 0, 0), ())
    made.rank([seat("a", window=100)])
    made.choose(Ask(200, 0, 0), ())
    assert repr(made) == "Selector(seats=1, rankings=2)"
    made.rank([seat("a")])
    assert repr(made) == "Selector(seats=1, rankings=0)"


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 63)), max_size=60))
def test_credits_sum_up_to_zero_whatever_comes_and_goes(steps: list[tuple[int, int]]) -> None:
    seats = {name: seat(name, place + 1, slots=3) for place, name in enumerate("abcdef")}
    made = selector(*seats.values(), band=1.25)
    for step, mask in steps:
        here = [one for place, one in enumerate(seats.values()) if mask >> place & 1]
        if step == 0:
            made.rank(here)
        elif step == 1:
            for one in here:
                one.state.busy = (one.state.busy + mask) % 4
        else:
            used(made, 2)
    made.rank(list(seats.values()))

    assert sum(made.credit(NodeName(name)) for name in seats) == pytest.approx(0, abs=1e-9)


def test_up_to_the_shortlist_a_choice_is_exact() -> None:
    seats = [seat(f"n{place}", 1) for place in range(SHORTLIST_MAX)]
    seats[-1] = seat("best", 1000)

    assert picked(selector(*seats), 1) == "best"


def test_a_fleet_cannot_be_ranked_with_a_band_below_one() -> None:
    with pytest.raises(AssertionError):
        Selector(band=0.9, rule=Selection.WEIGHTED, spin=0)


def test_a_warm_seat_would_do_a_cold_or_a_full_one_would_not() -> None:
    a, b = seat("a", slots=1), seat("b", cold=True)
    made = selector(a, b)

    assert made.would_do(ASK, ())
    a.state.busy = 1
    assert not made.would_do(ASK, ())
    assert not made.would_do(ASK, {NodeName("b")})


def test_a_cold_seat_would_do_where_cold_ones_are_asked_for_too() -> None:
    made = selector(seat("a", cold=True))

    assert (made.would_do(ASK, ()), made.would_do(ASK, (), warm=False)) == (False, True)


def test_seats_that_are_full_are_able_all_the_same() -> None:
    full, cold = seat("a", slots=2, busy=2), seat("b", slots=4, busy=4, cold=True)
    down, leaving = seat("c", health=Health.DOWN), seat("d", draining=True)
    made = selector(full, cold, down, leaving)

    assert (made.able_slots(ASK, (), warm=True), made.able_slots(ASK, (), warm=False)) == (2, 6)
    assert made.able(ASK, ()) == (full, cold)
    assert made.able(ASK, {NodeName("a")}) == (cold,)


def test_a_choice_among_the_warm_finds_a_suspect_one_where_a_healthy_one_is_cold() -> None:
    made = selector(seat("a", cold=True), seat("b", health=Health.SUSPECT))

    assert [one.state.node.name for one in made.choose(ASK, (), warm=True).seats] == ["b"]
    assert made.would_do(ASK, ())


def test_a_choice_among_the_warm_counts_them_alone_as_able() -> None:
    found = selector(seat("a", cold=True, slots=4), seat("b", slots=2, busy=2)).choose(ASK, (), warm=True)

    assert (found.seats, found.able, found.able_slots) == ((), 1, 2)


def test_seats_of_the_same_node_object_share_their_load() -> None:
    state = NodeState(seat("a").state.node, 2)
    one, other = Seat(state, MODEL, None), Seat(state, MODEL, None)
    made, second = selector(one), selector(other)
    used(made, 2)

    assert chosen(second) == ""
