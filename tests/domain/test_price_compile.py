"""Prices as declared, compiled for look-ups."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.pricing import Price
from ktms.domain.catalogue import PriceSpec
from ktms.domain.ids import LOCAL, VendorModel, VendorName
from ktms.domain.price_compile import price_table

ALPHA, GPT = VendorName("alpha"), VendorModel("gpt")


def only(spec: PriceSpec) -> Price:
    found = price_table([spec]).at(VendorName(spec.vendor), VendorModel(spec.model), 1e9)
    assert found is not None
    return found


def test_dollars_per_million_become_picos_per_token() -> None:
    spec = PriceSpec("alpha", "gpt", Decimal("0.15"), Decimal("0.075"), Decimal("0.1875"), Decimal("0.60"))
    assert only(spec) == Price(150_000, 600_000, 75_000, 187_500)


@pytest.mark.parametrize(
    ("text", "picos"),
    [("0", 0), ("0.000001", 1), ("1E+4", 10**10), ("0.1500000000000000000000000000000000", 150_000)],
)
def test_every_spelling_of_an_amount_is_exact(text: str, picos: int) -> None:
    assert only(PriceSpec("alpha", "gpt", output=Decimal(text))).output_picos == picos


def test_what_is_not_said_of_cached_tokens_costs_as_the_prompt_does() -> None:
    price = only(PriceSpec("alpha", "gpt", Decimal(2)))
    assert (price.cached_picos, price.cache_write_picos) == (2_000_000, 2_000_000)


def test_cached_tokens_may_be_free() -> None:
    assert only(PriceSpec("alpha", "gpt", Decimal(2), cached_input=Decimal(0))).cached_picos == 0


@pytest.mark.parametrize("name", ["qwen3", "qwen3:latest"])
@pytest.mark.parametrize("told", ["qwen3", "qwen3:latest"])
def test_the_default_tag_of_a_node_makes_no_difference(name: str, told: str) -> None:
    assert price_table([PriceSpec("local", name)]).at(LOCAL, VendorModel(told), 0) is not None


@pytest.mark.parametrize(("vendor", "told"), [("local", "qwen3"), ("alpha", "qwen3:4b:latest")])
def test_another_tag_is_another_model(vendor: str, told: str) -> None:
    assert price_table([PriceSpec(vendor, "qwen3:4b")]).at(VendorName(vendor), VendorModel(told), 0) is None


BEGINNINGS = st.lists(st.none() | st.integers(0, 1000).map(float), unique=True, min_size=1, max_size=6)


@given(BEGINNINGS, st.floats(-1, 1001))
def test_the_price_in_force_is_the_last_that_has_begun_in_whatever_order_they_stand(
    beginnings: list[float | None], wall: float
) -> None:
    price = price_table(PriceSpec("alpha", "gpt", valid_from=one) for one in beginnings).at(ALPHA, GPT, wall)
    begun = [float("-inf") if one is None else one for one in beginnings if one is None or one <= wall]
    if price is None:
        assert begun == []
    else:
        assert max(begun) == (float("-inf") if price.valid_from is None else price.valid_from)
