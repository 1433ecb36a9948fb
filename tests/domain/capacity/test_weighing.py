"""The terms of a weight."""

import pytest

from ktms.domain.capacity.seat import Health
from ktms.domain.capacity.weighing import CLASSES, NO_CLASS, class_of, finish_s, load_term, weight
from tests.domain.capacity.fleets import seat


@pytest.mark.parametrize(("health", "cold"), CLASSES)
def test_a_class_is_health_and_warmth(health: Health, cold: bool) -> None:
    assert CLASSES[class_of(seat("a", health=health, cold=cold))] == (health, cold)


def test_a_node_that_is_down_or_drains_is_in_no_class() -> None:
    assert class_of(seat("a", health=Health.DOWN)) == NO_CLASS
    assert class_of(seat("a", draining=True)) == NO_CLASS


@pytest.mark.parametrize(
    ("busy", "slots", "term"), [(0, 4, 1), (2, 4, 0.75), (3, 4, 0.4375), (4, 4, 0), (5, 4, 0), (0, 0, 0)]
)
def test_the_load_counts_by_its_square(busy: int, slots: int, term: float) -> None:
    assert load_term(busy, slots) == term


def test_a_weight_is_the_product_of_its_terms() -> None:
    one = seat("a", 6, slots=4, busy=2)
    one.speed = 2.0

    assert weight(one) == 9


def test_a_finish_is_reading_and_writing_next_to_those_that_run() -> None:
    one = seat("a", slots=4, busy=2, decode=50)
    one.prefill_tokens_per_s, one.slope = 1000, 0.5

    assert finish_s(one, 2000, 100) == 2 + 4
