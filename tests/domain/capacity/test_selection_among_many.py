"""A choice in a fleet too large to be looked at whole."""

import pytest

from ktms.domain.capacity import selection as module
from ktms.domain.capacity.ranking import WISHES_MAX
from ktms.domain.capacity.selection import Ask
from ktms.domain.ids import NodeName
from tests.domain.capacity.fleets import ASK, FR, chosen, fleet, seat, selector, used


def test_a_large_fleet_is_used_whole_not_from_the_front() -> None:
    made = selector(*fleet(200), band=1.25)

    assert len(used(made, 200)) >= 180


def test_a_large_fleet_is_filled_to_its_last_slot() -> None:
    seats = fleet(150)
    made, found = selector(*seats, band=1.25), 0
    for _ in range(40):
        found += sum(used(made, 100).values())
        made.rank(seats)

    assert found == 600


def test_in_a_large_fleet_too_a_call_finds_the_one_window_that_holds_it() -> None:
    seats = [*fleet(300, window=4096), seat("big", slots=4, window=32_768)]

    assert chosen(selector(*seats), Ask(20_000, 0, 0)) == "big"


def test_in_a_large_fleet_too_a_call_finds_its_region() -> None:
    assert chosen(selector(*fleet(300), seat("here", region="fr")), Ask(0, 0, 0, FR)) == "here"


def test_in_a_large_fleet_a_cold_node_waits_for_the_last_warm_one() -> None:
    seats = fleet(100)
    for one in seats[1:]:
        one.cold = True

    assert chosen(selector(*seats)) == "n0"


def test_a_slot_that_came_free_in_a_full_large_fleet_is_found_when_told() -> None:
    seats = fleet(1000, busy=4)
    made = selector(*seats)
    seats[900].state.busy = 3
    assert chosen(made) == ""
    made.freed(NodeName("n900"))
    made.freed(NodeName("stranger"))

    assert chosen(made) == "n900"
    assert made.choose(ASK, ()).able == 1000


def test_in_a_full_large_fleet_nobody_is_found() -> None:
    choice = selector(*fleet(1000, busy=4)).choose(ASK, ())

    assert (choice.seats, choice.able, choice.able_slots) == ((), 1000, 4000)


def test_in_a_full_large_fleet_some_of_the_able_are_named() -> None:
    made = selector(*fleet(1000, busy=4))

    assert (len(made.able(ASK, ())), made.able_slots(ASK, (), warm=True)) == (WISHES_MAX, 4000)


def test_freed_slots_are_remembered_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREED_MAX", 1)
    seats = fleet(1000, busy=4)
    made = selector(*seats)
    seats[900].state.busy = seats[901].state.busy = 3
    made.freed(NodeName("n900"))
    made.freed(NodeName("n901"))

    assert chosen(made) == "n900"
