"""Smooth weighted round robin."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.routing import rotation as module
from ktms.domain.routing.rotation import SPIN_MAX, Rotation, Rotations, rotate

WEIGHTS = st.lists(st.integers(min_value=1, max_value=9), min_size=1, max_size=5)


def named(weights: list[int]) -> list[tuple[str, float]]:
    return [(chr(ord("a") + index), float(weight)) for index, weight in enumerate(weights)]


def reference(weights: list[int], picks: int) -> str:
    """The published algorithm, written down a second time, with plain integers."""
    current = [0] * len(weights)
    out = ""
    for _ in range(picks):
        best = -1
        for index, weight in enumerate(weights):
            current[index] += weight
            if best < 0 or current[index] > current[best]:
                best = index
        current[best] -= sum(weights)
        out += chr(ord("a") + best)
    return out


@pytest.mark.parametrize(
    ("weights", "golden"),
    [([5, 1, 1], "aabacaa"), ([1, 1, 1], "abc"), ([1], "a"), ([4, 2, 1], "abacaba"), ([2, 1], "aba")],
)
def test_known_sequences_come_out(weights: list[int], golden: str) -> None:
    rotation = Rotation()

    assert "".join(rotation.pick(named(weights)) for _ in golden) == golden


@given(WEIGHTS, st.integers(min_value=0, max_value=200))
def test_it_is_the_published_algorithm(weights: list[int], picks: int) -> None:
    rotation = Rotation()

    assert "".join(rotation.pick(named(weights)) for _ in range(picks)) == reference(weights, picks)


@given(WEIGHTS)
def test_over_one_round_everybody_gets_exactly_the_share_of_the_weight(weights: list[int]) -> None:
    rotation = Rotation()
    picked = Counter(rotation.pick(named(weights)) for _ in range(sum(weights)))

    assert picked == dict(named(weights))


@given(WEIGHTS, st.integers(min_value=0, max_value=1000))
def test_a_spin_is_a_later_place_in_the_same_sequence(weights: list[int], spin: int) -> None:
    rotation = Rotation(spin)
    turned = spin % SPIN_MAX

    assert "".join(rotation.pick(named(weights)) for _ in range(20)) == reference(weights, turned + 20)[turned:]


def test_one_that_was_absent_begins_at_zero() -> None:
    rotation = Rotation()
    for _ in range(2):
        rotation.pick([("a", 1.0), ("b", 1.0), ("c", 5.0)])
    rotation.pick([("a", 1.0), ("b", 1.0)])

    assert rotation.current("c") == 0.0


def test_the_others_follow_in_the_order_of_their_turns() -> None:
    rotation = Rotation()

    assert rotate(rotation, named([5, 3, 1])) == ("a", "b", "c")
    assert rotate(rotation, named([5, 3, 1])) == ("b", "a", "c")


@given(WEIGHTS, st.integers(min_value=1, max_value=30))
def test_every_candidate_is_in_the_order_once(weights: list[int], turns: int) -> None:
    rotation = Rotation()
    for _ in range(turns):
        assert sorted(rotate(rotation, named(weights))) == [name for name, _ in named(weights)]


@pytest.mark.parametrize("candidates", [[], [("a", 0.0)], [("a", -1.0)]])
def test_nobody_and_weights_of_nothing_are_our_own_mistake(candidates: list[tuple[str, float]]) -> None:
    with pytest.raises(AssertionError):
        Rotation().pick(candidates)


def test_its_repr_shows_the_current_weights() -> None:
    rotation = Rotation()
    rotation.pick(named([2, 1]))

    assert repr(rotation) == "Rotation(a=-1, b=1)"


def test_a_group_keeps_its_rotation() -> None:
    rotations = Rotations()

    assert rotations.of("x") is rotations.of("x")
    assert rotations.of("x") is not rotations.of("y")


def test_groups_are_bounded_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROTATIONS_MAX", 2)
    rotations = Rotations()
    first, second = rotations.of("1"), rotations.of("2")
    rotations.of("3")

    assert rotations.of("2") is second
    assert rotations.of("1") is not first
