import pytest
from hypothesis import given
from hypothesis import strategies as some

from ktms.config.moment import MomentInvalid, read_moment, write_moment


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("1970-01-02", 86_400),
        ("1970-01-01T00:00:10", 10),
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T01:00:10+01:00", 10),
    ],
)
def test_a_date_without_a_zone_is_utc(text: str, at_s: float) -> None:
    assert read_moment(text) == at_s


@pytest.mark.parametrize("text", ["", "soon", "2027-13-01", "1798761600"])
def test_anything_else_is_no_date(text: str) -> None:
    with pytest.raises(MomentInvalid, match="expected a date such as"):
        read_moment(text)


@given(some.integers(0, 253_402_300_799))
def test_every_second_survives_writing_and_reading(at_s: int) -> None:
    assert read_moment(write_moment(at_s)) == at_s
