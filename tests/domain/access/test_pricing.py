"""What tokens cost: tables of arithmetic by hand, and exactness as a property."""

from decimal import ROUND_CEILING, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.domain.access.pricing import NO_PRICES, Price, PriceTable, micros_up
from ktms.domain.catalogue import PriceSpec
from ktms.domain.conversation.usage import NO_USAGE, Usage
from ktms.domain.ids import VendorModel, VendorName
from ktms.domain.price_compile import price_table

MINI = Price(input_picos=150_000, output_picos=600_000, cached_picos=75_000, cache_write_picos=150_000)
SONNET = Price(input_picos=3_000_000, output_picos=15_000_000, cached_picos=300_000, cache_write_picos=3_750_000)

ALPHA, GPT = VendorName("alpha"), VendorModel("gpt")


@pytest.mark.parametrize(
    ("price", "usage", "picos"),
    [
        (MINI, NO_USAGE, 0),
        (MINI, Usage(1000, 0), 150_000_000),
        (MINI, Usage(0, 1000), 600_000_000),
        (MINI, Usage(1000, 10), 150_000_000 + 6_000_000),
        # OpenAI: 900 of the 1,000 are cached, they are in the 1,000 already.
        (MINI, Usage.cache_inside(1000, 10, cached=900), 100 * 150_000 + 900 * 75_000 + 10 * 600_000),
        # Anthropic: 100 fresh, 900 read and 50 written come beside.
        (
            SONNET,
            Usage.cache_beside(100, 10, cached=900, written=50),
            100 * 3_000_000 + 900 * 300_000 + 50 * 3_750_000 + 10 * 15_000_000,
        ),
        # Reasoning is in the completion and costs as that does, once.
        (MINI, Usage.cache_inside(0, 100, reasoning=80), 100 * 600_000),
        # A vendor that says more is cached than there is cannot make the rest negative.
        (MINI, Usage(10, 0, cached_tokens=11, cache_write_tokens=7), 10 * 75_000),
        (SONNET, Usage(10, 0, cached_tokens=4, cache_write_tokens=7), 4 * 300_000 + 6 * 3_750_000),
    ],
)
def test_an_answer_costs_each_kind_of_token_at_its_own_price(price: Price, usage: Usage, picos: int) -> None:
    assert price.cost_picos(usage) == picos


def test_what_is_estimated_costs_as_much_as_what_was_told() -> None:
    assert MINI.cost_picos(Usage(7, 3, estimated=True)) == MINI.cost_picos(Usage(7, 3))


def test_at_most_a_whole_prompt_costs_its_dearest_kind() -> None:
    assert SONNET.most_picos(1000, 10) == 1000 * 3_750_000 + 10 * 15_000_000


@pytest.mark.parametrize(
    ("picos", "micros"), [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2), (10**18, 10**12)]
)
def test_a_budget_is_charged_the_next_whole_micro_dollar(picos: int, micros: int) -> None:
    assert micros_up(picos) == micros


@given(st.integers(0, 1 << 70))
def test_rounding_never_undercharges_and_is_off_by_less_than_a_micro_dollar(picos: int) -> None:
    assert 0 <= micros_up(picos) * 1_000_000 - picos < 1_000_000


AMOUNTS = st.decimals(0, 10_000, places=6)
COUNTS = st.integers(0, 300_000_000)


@given(
    st.builds(PriceSpec, st.just("alpha"), st.just("gpt"), AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    st.lists(st.builds(Usage.cache_beside, COUNTS, COUNTS, cached=COUNTS, written=COUNTS), max_size=5),
)
def test_sums_are_those_of_exact_decimals_and_round_once_at_the_end(spec: PriceSpec, usages: list[Usage]) -> None:
    price = price_table([spec]).at(ALPHA, GPT, 0)
    assert price is not None
    picos = sum(price.cost_picos(usage) for usage in usages)
    with localcontext() as exact:
        exact.prec = 100
        dollars = sum((_dollars(spec, usage) for usage in usages), Decimal(0))
        assert Decimal(picos).scaleb(-12) == dollars
        assert micros_up(picos) == int(dollars.scaleb(6).to_integral_value(ROUND_CEILING))


def _dollars(spec: PriceSpec, usage: Usage) -> Decimal:
    assert spec.cached_input is not None
    assert spec.cache_write is not None
    fresh = usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
    per_million = (
        fresh * spec.input
        + usage.cached_tokens * spec.cached_input
        + usage.cache_write_tokens * spec.cache_write
        + usage.completion_tokens * spec.output
    )
    return per_million.scaleb(-6)


@given(st.builds(Price, *[st.integers(0, 10**10)] * 4), COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_answer_costs_more_than_the_most_of_its_tokens(
    price: Price, fresh: int, cached: int, written: int, completion: int
) -> None:
    usage = Usage.cache_beside(fresh, completion, cached=cached, written=written)
    assert price.cost_picos(usage) <= price.most_picos(usage.prompt_tokens, completion)


def test_a_target_without_a_price_has_none() -> None:
    assert NO_PRICES.at(ALPHA, GPT, 0) is None


def test_a_price_belongs_to_one_vendor_and_model() -> None:
    table = PriceTable({("alpha", "gpt"): (MINI,)})
    assert table.at(ALPHA, GPT, 0) is MINI
    assert table.at(VendorName("beta"), GPT, 0) is None
    assert table.at(ALPHA, VendorModel("gpt-2"), 0) is None


def later(price: Price, valid_from: float) -> Price:
    return Price(price.input_picos, price.output_picos, price.cached_picos, price.cache_write_picos, valid_from)


@pytest.mark.parametrize(("wall", "known"), [(99.999, False), (100, True), (101, True)])
def test_a_price_counts_from_its_own_second_on(wall: float, known: bool) -> None:
    table = PriceTable({("alpha", "gpt"): (later(MINI, 100),)})
    assert (table.at(ALPHA, GPT, wall) is not None) is known


@pytest.mark.parametrize(
    ("wall", "begun"), [(0, None), (99, None), (100, 100), (199, 100), (200, 200), (9e9, 200)]
)
def test_of_several_prices_the_one_counts_that_began_last(wall: float, begun: float | None) -> None:
    table = PriceTable({("alpha", "gpt"): (later(SONNET, 200), later(MINI, 100), MINI)})
    price = table.at(ALPHA, GPT, wall)
    assert price is not None
    assert price.valid_from == begun


def test_a_table_shows_its_size_and_no_price() -> None:
    assert repr(PriceTable({("alpha", "gpt"): (MINI,)})) == "PriceTable(1 targets)"
