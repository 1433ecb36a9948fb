"""The example of docs/routing.md, "Choosing a node": its table and its turns are what the rules give."""

from math import inf
from pathlib import Path

import pytest

from ktms.domain.capacity.seat import Seat
from ktms.domain.capacity.selection import Ask, Considered, explain
from ktms.domain.capacity.speed import SpeedMeter, SpeedSample, set_speeds
from tests.domain.capacity.fleets import seat, selector

PAGE = (Path(__file__).parents[3] / "docs/routing.md").read_text()

CALL = Ask(need_tokens=2400, uncached_tokens=2000, output_tokens=400)
BAND = 1.25

SAMPLES = 45
"""So many that the five samples thought in front of them show, and do not rule."""


@pytest.fixture
def seats() -> list[Seat]:
    fleet = {
        "gpu": (seat("gpu", 8, slots=8, busy=2, window=32_768), 2000.0, 60.0),
        "mac": (seat("mac", 2, slots=2, busy=0, window=32_768), 800.0, 40.0),
        "old": (seat("old", 4, slots=4, busy=1, window=32_768), 400.0, 15.0),
        "mini": (seat("mini", 2, slots=2, busy=0, window=2048), 800.0, 40.0),
    }
    measured = []
    for one, reads, writes in fleet.values():
        meter = SpeedMeter()
        for number in range(SAMPLES):
            meter.take(SpeedSample(writes, reads, concurrency=1), float(number))
        measured.append((one, meter))
    set_speeds(measured)
    return [one for one, _ in measured]


def row(one: Seat, told: Considered) -> str:
    """Write a row of the table, up to its last column."""
    cells = (
        told.node,
        f"{told.busy} of {told.slots}",
        f"{one.prefill_tokens_per_s:.0f}",
        f"{one.decode_tokens_per_s:.0f}",
        f"{told.speed:.2f}",
        f"{told.load:.2f}",
        f"{told.weight:.2f}",
        f"{told.finish_s:.1f} s",
        "considered" if told.left_out is None else f"left out: {told.left_out}",
    )
    return "| " + " | ".join(cells)


def turns(seats: list[Seat], band: float, count: int) -> list[str]:
    chooser = selector(*seats, band=band)
    names = []
    for _ in range(count):
        choice = chooser.choose(CALL, ())
        names.append(str(choice.seats[0].state.node.name))
        chooser.charge(choice, choice.seats[0].state.node.name)
    return names


def test_the_table_is_what_the_rules_say(seats: list[Seat]) -> None:
    rows = [row(one, told) for one, told in zip(seats, explain(seats, CALL, (), BAND), strict=True)]

    assert [text for text in rows if text not in PAGE] == []


def test_the_band_is_a_quarter_later_than_the_best(seats: list[Seat]) -> None:
    best = min(told.finish_s for told in explain(seats, CALL, (), BAND))

    assert f"left out: band ({best * BAND:.1f} s)" in PAGE


def test_the_turns_are_those_of_the_page(seats: list[Seat]) -> None:
    assert " ".join(turns(seats, BAND, 12)) in PAGE


def test_without_a_band_the_slow_node_gets_the_seventh_call(seats: list[Seat]) -> None:
    assert turns(seats, inf, 7)[6] == "old"
    assert "old would get the\nseventh of these calls" in PAGE
