"""Prices as declared, compiled for look-ups: dollars per million tokens become whole pico-dollars per token.

Not here: what a price says of an answer (`access/pricing.py`), its form (`price_form.py`).
"""

from collections.abc import Iterable
from decimal import Decimal

from ktms.domain.access.pricing import Price, PriceTable
from ktms.domain.capacity.serving import DEFAULT_TAG
from ktms.domain.catalogue import PriceSpec
from ktms.domain.ids import LOCAL
from ktms.domain.price_form import priced_model

PICOS_PER_USD_PER_MILLION = 1_000_000
"""Pico-dollars per token that one dollar per million tokens makes."""


def price_table(specs: Iterable[PriceSpec]) -> PriceTable:
    """Compile what the operator declared; of each target the price that begins last comes first."""
    found: dict[tuple[str, str], list[Price]] = {}
    for spec in specs:
        price = _price(spec)
        for model in _spellings(spec):
            found.setdefault((spec.vendor, model), []).append(price)
    return PriceTable(
        {target: tuple(sorted(prices, key=_begin, reverse=True)) for target, prices in found.items()}
    )


def _price(spec: PriceSpec) -> Price:
    """Compile one price; what is not said of cached tokens costs as much as any other of the prompt."""
    return Price(
        input_picos=_picos(spec.input),
        output_picos=_picos(spec.output),
        cached_picos=_picos(spec.input if spec.cached_input is None else spec.cached_input),
        cache_write_picos=_picos(spec.input if spec.cache_write is None else spec.cache_write),
        valid_from=spec.valid_from,
    )


def _picos(dollars_per_million: Decimal) -> int:
    """Turn dollars per million tokens into pico-dollars per token, whole ones since `price_form.py` sees to it."""
    parts, whole = dollars_per_million.as_integer_ratio()  # exact; Decimal's own arithmetic rounds at 28 digits
    picos, rest = divmod(parts * PICOS_PER_USD_PER_MILLION, whole)
    assert rest == 0, "a price has at most six decimals"
    return picos


def _spellings(spec: PriceSpec) -> frozenset[str]:
    """Give the names that a target of this price may go by: a node tells `x:latest` where `x` is priced."""
    if spec.vendor != LOCAL:
        return frozenset({spec.model})
    full = priced_model(spec.vendor, spec.model)
    return frozenset({full, full.removesuffix(DEFAULT_TAG)})


def _begin(price: Price) -> float:
    return float("-inf") if price.valid_from is None else price.valid_from
