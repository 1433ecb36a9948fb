"""What counts tell of slots that others hold: since when, and nothing of what crossed on the way."""

from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.capacity.holders import Holders


def told(*counts: int) -> list[float]:
    """Take one reading a second, from 0 on."""
    holders = Holders()
    for now, count in enumerate(counts):
        holders.seen(count, float(now))
    return holders.since


def test_one_reading_alone_is_not_believed() -> None:
    assert told(3) == []


def test_a_count_that_rose_began_when_it_was_first_read() -> None:
    assert told(0, 2, 2) == [1.0, 1.0]


def test_of_more_and_more_the_oldest_comes_first() -> None:
    assert told(1, 1, 2, 2) == [0.0, 2.0]


def test_a_count_that_fell_means_that_the_oldest_has_ended() -> None:
    assert told(1, 1, 2, 2, 1, 1) == [2.0]


def test_what_one_reading_alone_had_never_was() -> None:
    assert told(1, 1, 2, 1, 1) == [0.0]
    assert told(1, 1, 0, 1, 1) == [0.0]


def test_fewer_than_none_are_none() -> None:
    assert told(1, 1, -1, -1) == []


def test_it_shows_how_many_it_knows_of() -> None:
    assert repr(Holders()) == "Holders(0)"


@given(st.lists(st.integers(-2, 20), max_size=30), st.integers(0, 20))
def test_after_two_equal_readings_as_many_are_known_as_were_read(counts: list[int], last: int) -> None:
    since = told(*counts, last, last)
    assert len(since) == last
    assert since == sorted(since)
