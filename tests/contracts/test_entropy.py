"""Contract of `ktms/ports/entropy.py`: one suite for every implementation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.system.entropy import SystemEntropy
from ktms.ports.entropy import Entropy
from sim.fakes.entropy import SimEntropy
from sim.seed import Seed

ALL: list[Entropy] = [SeededEntropy("contract"), SimEntropy(Seed(1).chance()), SystemEntropy()]


@pytest.fixture(params=ALL, ids=["seeded", "sim", "system"])
def entropy(request: pytest.FixtureRequest) -> Entropy:
    made: Entropy = request.param
    return made


@pytest.mark.parametrize("count", [0, 1, 10, 32, 1000])
def test_bytes_are_as_many_as_asked_for(entropy: Entropy, count: int) -> None:
    assert len(entropy.token_bytes(count)) == count


def test_bytes_never_repeat(entropy: Entropy) -> None:
    assert len({entropy.token_bytes(10) for _ in range(1000)}) == 1000


def test_every_byte_occurs(entropy: Entropy) -> None:
    assert len(set(entropy.token_bytes(10_000))) == 256


@given(st.floats(-1e9, 1e9), st.floats(0, 1e9))
def test_a_number_stays_within_its_bounds(low: float, width: float) -> None:
    for source in ALL:
        assert low <= source.uniform(low, low + width) <= low + width


def test_numbers_fill_their_range_evenly(entropy: Entropy) -> None:
    drawn = [entropy.uniform(0.8, 1.2) for _ in range(2000)]
    quarters = [sum(0.8 + 0.1 * n <= number < 0.9 + 0.1 * n for number in drawn) for n in range(4)]
    assert min(quarters) > 380, quarters  # 500 each; six standard deviations are 116


def test_a_range_of_one_number_is_that_number(entropy: Entropy) -> None:
    assert entropy.uniform(0.5, 0.5) == 0.5


def test_the_same_seed_repeats_and_another_does_not() -> None:
    first, again, other = SeededEntropy("a"), SeededEntropy("a"), SeededEntropy("b")
    drawn = (first.token_bytes(16), first.uniform(0, 1))
    assert drawn == (again.token_bytes(16), again.uniform(0, 1))
    assert drawn[0] != other.token_bytes(16)
