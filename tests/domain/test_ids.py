"""Identities: UUIDv7."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.ids import uuid7

MOMENTS = st.integers(min_value=0, max_value=(1 << 48) - 1)
CHANCE = st.binary(min_size=10, max_size=10)


@given(MOMENTS, CHANCE)
def test_an_id_is_a_uuid_of_version_7_with_its_time_in_front(wall_ms: int, chance: bytes) -> None:
    made = uuid.UUID(uuid7(wall_ms, chance))

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == wall_ms


@given(MOMENTS, CHANCE)
def test_an_id_is_written_in_the_usual_form(wall_ms: int, chance: bytes) -> None:
    text = uuid7(wall_ms, chance)

    assert str(uuid.UUID(text)) == text


@given(MOMENTS, MOMENTS, CHANCE, CHANCE)
def test_ids_sort_by_time(first: int, second: int, chance: bytes, other: bytes) -> None:
    if first < second:
        assert uuid7(first, chance) < uuid7(second, other)


@given(CHANCE)
def test_74_bits_of_chance_end_up_in_the_id(chance: bytes) -> None:
    given = int.from_bytes(chance, "big")
    made = uuid.UUID(uuid7(0, chance)).int

    assert made >> 64 & 0xFFF == given >> 64 & 0xFFF
    assert made & (1 << 62) - 1 == given & (1 << 62) - 1


@pytest.mark.parametrize(("wall_ms", "chance"), [(-1, bytes(10)), (1 << 48, bytes(10)), (0, bytes(9))])
def test_impossible_times_and_short_chance_are_our_own_mistake(wall_ms: int, chance: bytes) -> None:
    with pytest.raises(AssertionError):
        uuid7(wall_ms, chance)
