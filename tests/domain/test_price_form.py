"""How a price is written down."""

from decimal import Decimal

import pytest

from ktms.domain.catalogue import PriceSpec
from ktms.domain.price_form import (
    VALID_FROM_MAX_S,
    amount_fault,
    moment_fault,
    price_complaints,
    price_name,
    priced_model,
)

DAY = 1_785_542_400.0
"""2026-08-01T00:00:00Z."""


@pytest.mark.parametrize(
    "text", ["0", "-0", "0.15", "0.000001", "10000", "1E+4", "0E-20", "0.150000000000000000000000000000000000"]
)
def test_ordinary_amounts_have_no_fault(text: str) -> None:
    assert amount_fault(Decimal(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "-0.01",
        "-1E-9",
        "NaN",
        "sNaN",
        "Infinity",
        "-Infinity",
        "10000.000001",
        "1E+999999",
        "1E-999999",
        "0.0000001",
        "0.1234560000000000000000000000000000001",
    ],
)
def test_anything_else_is_refused_with_one_line_that_says_what_may_stand_there(text: str) -> None:
    fault = amount_fault(Decimal(text))
    assert fault == "must be dollars per million tokens, 0 to 10000, with at most 6 decimals"


@pytest.mark.parametrize("at_s", [0, DAY, VALID_FROM_MAX_S])
def test_whole_seconds_are_moments(at_s: float) -> None:
    assert moment_fault(at_s) is None


@pytest.mark.parametrize("at_s", [-1, 0.5, VALID_FROM_MAX_S + 1, float("nan"), float("inf"), float("-inf"), 1e300])
def test_other_numbers_are_not(at_s: float) -> None:
    assert moment_fault(at_s) == "must be a moment of whole seconds from 1970 on"


def test_each_field_that_is_wrong_is_named() -> None:
    bad = Decimal(-1)
    spec = PriceSpec("a", "b", bad, bad, bad, bad, valid_from=-1)
    assert [complaint.path for complaint in price_complaints(spec)] == [
        ("input",),
        ("cached_input",),
        ("cache_write",),
        ("output",),
        ("valid_from",),
    ]


def test_a_sound_price_has_no_complaint() -> None:
    assert list(price_complaints(PriceSpec("a", "b", Decimal("0.1"), None, None, Decimal(1), DAY))) == []


@pytest.mark.parametrize(
    ("valid_from", "name"),
    [
        (None, "openai/mini"),
        (DAY, "openai/mini from 2026-08-01"),
        (DAY + 1, "openai/mini from 2026-08-01T00:00:01Z"),
        (0, "openai/mini from 1970-01-01"),
        (float("nan"), "openai/mini from nan"),
    ],
)
def test_a_price_is_named_by_its_target_and_its_beginning(valid_from: float | None, name: str) -> None:
    assert price_name(PriceSpec("openai", "mini", valid_from=valid_from)) == name


def test_two_spellings_of_a_nodes_model_are_one() -> None:
    assert priced_model("local", "qwen3") == priced_model("local", "qwen3:latest")
    assert priced_model("openai", "mini") != priced_model("openai", "mini:latest")
