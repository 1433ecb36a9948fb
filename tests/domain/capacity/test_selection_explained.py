"""The record of a decision: every candidate, every term, and one word for why it was left out."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.ranking import WISHES_MAX
from ktms.domain.capacity.seat import Health, Seat
from ktms.domain.capacity.selection import Ask, explain
from ktms.domain.ids import NodeName, Region
from tests.domain.capacity.fleets import ASK, FR, seat, selector

SEATS = st.builds(
    seat,
    st.just(""),
    st.integers(1, 9),
    slots=st.integers(1, 4),
    busy=st.integers(0, 4),
    told=st.integers(0, 6),
    window=st.sampled_from([None, 500, 1500]),
    region=st.sampled_from([None, "fr", "us"]),
    health=st.sampled_from(Health),
    draining=st.booleans(),
    cold=st.booleans(),
    decode=st.sampled_from([10.0, 30.0, 33.0, 90.0]),
)


def named(seats: list[Seat]) -> list[Seat]:
    return [
        seat(
            f"n{place}",
            one.state.node.base_weight,
            slots=one.state.slots,
            busy=one.state.busy,
            told=one.state.taken,
            window=one.window,
            region=one.state.node.region,
            health=one.state.health,
            draining=one.state.draining,
            cold=one.cold,
            decode=one.decode_tokens_per_s,
        )
        for place, one in enumerate(seats)
    ]


@given(
    st.lists(SEATS, max_size=WISHES_MAX).map(named),
    st.sampled_from([None, FR]),
    st.sampled_from([0, 1000]),
    st.sampled_from([1.0, 1.25, inf]),
)
def test_the_choice_is_that_of_its_explanation(
    seats: list[Seat], regions: frozenset[Region] | None, need_tokens: int, band: float
) -> None:
    ask = Ask(need_tokens, 500, 250, regions)
    refused = {NodeName("n1")}
    choice = selector(*seats, band=band).choose(ask, refused)
    considered = explain(seats, ask, refused, band)

    assert {one.state.node.name for one in choice.seats} == {one.node for one in considered if not one.left_out}
    if choice.seats:
        heaviest = max((one for one in considered if not one.left_out), key=lambda one: one.weight)
        assert choice.seats[0].state.node.name == heaviest.node


def test_every_reason_to_be_left_out_has_its_word() -> None:
    seats = [
        seat("a", health=Health.DOWN),
        seat("b", draining=True),
        seat("c", region="fr"),
        seat("d", region="us"),
        seat("e", region="fr", window=10),
        seat("f", region="fr", slots=1, busy=1),
        seat("g", region="fr", cold=True, decode=900),
        seat("h", region="fr", decode=5),
        seat("i", region="fr", decode=50),
    ]
    found = explain(seats, Ask(1000, 500, 250, FR), {NodeName("c")}, 1.25)

    words = ["down", "draining", "refused", "region", "window", "full", "class", "band", None]
    assert [one.left_out for one in found] == words


def test_the_explanation_has_every_term() -> None:
    one = seat("a", 6, slots=4, busy=2, decode=50)
    one.speed, one.prefill_tokens_per_s, one.slope = 2.0, 1000, 0.5
    found = explain([one], Ask(0, 2000, 100), (), 1.25)[0]

    assert (found.node, found.health, found.cold) == ("a", Health.HEALTHY, False)
    assert (found.base_weight, found.busy, found.slots) == (6, 2, 4)
    assert (found.load, found.speed, found.weight, found.finish_s) == (0.75, 2, 9, 6)
    assert found.in_band


def test_without_a_band_the_slowest_is_in_it() -> None:
    found = explain([seat("a", decode=1), seat("b", decode=90)], ASK, (), inf)

    assert [one.left_out for one in found] == [None, None]
