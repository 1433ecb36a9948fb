import click
import pytest

from ktms.app.cli.usage_days import Day, day_number
from ktms.app.cli.usage_view import exact_dollars

TODAY = 20_717


@pytest.mark.parametrize(
    ("text", "number"),
    [("1d", TODAY), ("7d", TODAY - 6), ("1970-01-02", 1), ("2026-09-21", 20_717), ("36500d", 0)],
)
def test_a_day_is_a_date_or_so_many_days_back(text: str, number: int) -> None:
    assert day_number(text, today=TODAY) == number


@pytest.mark.parametrize("text", ["", "d", "0d", "-1d", "99999d", "2026-13-01", "today"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected a day"):
        Day().convert(text, None, None)


@pytest.mark.parametrize(
    ("picos", "text"),
    [
        (0, "0"),
        (1, "0.000000000001"),
        (1_500_000_000_000, "1.5"),
        (-2_000_000_000_000, "-2"),
        (10**20, "100000000"),
    ],
)
def test_dollars_are_exact_and_plain(picos: int, text: str) -> None:
    assert exact_dollars(picos) == text
