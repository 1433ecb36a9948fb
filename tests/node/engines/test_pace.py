"""Speed from an engine's own counters."""

import pytest

from ktms.node.engines.pace import LINE_MAX_BYTES, Pace, rounded, total


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"x_count 7", 7),
        (b'x_count{engine="0"} 7.5', 7.5),
        (b'x_count{engine="0"}7', 7),
        (b"x_count 1e3 1700000000", 1000),
        (b"x_count\t2 \r", 2),
        (b'x_count{engine="0"} 2\nx_count{engine="1"} 3', 5),
    ],
)
def test_the_series_of_a_name_are_summed(line: bytes, value: float) -> None:
    assert total(b"# TYPE x_count counter\n" + line + b"\ny 1\n", b"x_count") == value


@pytest.mark.parametrize(
    "line",
    [b"", b"x_count", b"x_count2 5", b"x_count NaN", b"x_count -1", b"x_countable 3", b"x_count{a 3",
     b"x_count " + b"1" * LINE_MAX_BYTES],
)  # fmt: skip
def test_what_is_no_number_of_this_name_is_not_known(line: bytes) -> None:
    assert total(line, b"x_count") is None


def test_speed_is_that_since_the_last_sample() -> None:
    pace = Pace()
    assert pace.hear(100, 2.0) == 50
    assert pace.hear(200, 3.0) == 100


def test_too_short_an_answer_changes_nothing_and_counts_later() -> None:
    pace = Pace()
    pace.hear(100, 2.0)
    assert pace.hear(110, 2.5) == 50
    assert pace.hear(120, 3.0) == 20


def test_without_counters_the_last_speed_stays() -> None:
    pace = Pace()
    assert pace.hear(None, 1.0) is None
    pace.hear(100, 2.0)
    assert pace.hear(None, None) == 50


def test_an_engine_that_was_started_again_is_measured_anew() -> None:
    pace = Pace()
    pace.hear(1000, 10.0)
    assert pace.hear(40, 2.0) == 20


def test_nothing_generated_is_no_speed() -> None:
    assert Pace().hear(0, 0) is None


def test_a_speed_has_two_digits() -> None:
    assert rounded(41.7) == 42
    assert rounded(0) is None
    assert rounded(1e12) is None
