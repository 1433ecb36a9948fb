from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ktms.config.money import DollarsInvalid, read_micros, write_dollars
from ktms.domain.access.limits import LIMIT_MAX


@given(some.integers(0, LIMIT_MAX * 1_000_000))
def test_every_amount_survives_writing_and_reading(micros: int) -> None:
    assert read_micros(write_dollars(micros)) == micros


@pytest.mark.parametrize(("micros", "text"), [(0, "0"), (500_000_000, "500"), (1, "0.000001"), (150_000, "0.15")])
def test_amounts_are_written_without_trailing_zeros(micros: int, text: str) -> None:
    assert str(write_dollars(micros)) == text


@pytest.mark.parametrize("text", ["0.0000001", "1.00000000000000000000000000000000001", "1e-9"])
def test_an_amount_finer_than_a_micro_dollar_is_refused_and_never_rounded(text: str) -> None:
    with pytest.raises(DollarsInvalid, match="at most 6 decimals"):
        read_micros(Decimal(text))


@pytest.mark.parametrize("text", ["-0.01", "1000000001", "Infinity", "NaN", "1e999999"])
def test_an_amount_out_of_range_is_refused(text: str) -> None:
    with pytest.raises(DollarsInvalid, match="between 0 and"):
        read_micros(Decimal(text))
