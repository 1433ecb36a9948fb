"""How a price is written down: amounts within bounds, the day it begins, the name it goes by.

A price is told apart by vendor, model and the moment it begins, so a new one stands beside the older ones. Not
here: what a price says of an answer (`access/pricing.py`), compiling it (`price_compile.py`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

from ktms.domain.capacity.serving import with_tag
from ktms.domain.catalogue import PriceSpec
from ktms.domain.complaint import Complaint
from ktms.domain.ids import LOCAL

PRICE_DECIMALS = 6
"""Dollars per million tokens with so many decimals are whole pico-dollars per token: sums are exact."""

PRICE_MAX_USD = 10_000
"""A cent per token, ten times the dearest model there is; the cost of the largest usage fits 64 bits below it."""

VALID_FROM_MAX_S = 253_402_300_799
"""The last second of the year 9999; dates end there."""

_AMOUNTS = ("input", "cached_input", "cache_write", "output")
_DAY_S = 86_400


def amount_fault(amount: Decimal) -> str | None:
    """Say what is wrong with an amount of dollars per million tokens; None: nothing."""
    if amount.is_finite() and 0 <= amount <= PRICE_MAX_USD and _decimals(amount) <= PRICE_DECIMALS:
        return None
    return f"must be dollars per million tokens, 0 to {PRICE_MAX_USD}, with at most {PRICE_DECIMALS} decimals"


def moment_fault(valid_from: float) -> str | None:
    """Say what is wrong with the moment a price begins; None: nothing."""
    if 0 <= valid_from <= VALID_FROM_MAX_S and valid_from == int(valid_from):  # NaN fails the first
        return None
    return "must be a moment of whole seconds from 1970 on"


def price_complaints(price: PriceSpec) -> Iterator[Complaint]:
    """Find what is wrong with the amounts and the beginning of one price."""
    for name in _AMOUNTS:
        amount: Decimal | None = getattr(price, name)
        fault = None if amount is None else amount_fault(amount)
        if fault is not None:
            yield Complaint((name,), fault)
    fault = None if price.valid_from is None else moment_fault(price.valid_from)
    if fault is not None:
        yield Complaint(("valid_from",), fault)


def price_name(price: PriceSpec) -> str:
    """Name a price: `openai/gpt-4o-mini`, or `openai/gpt-4o-mini from 2026-08-01` where it has a beginning."""
    target = f"{price.vendor}/{price.model}"
    since = price.valid_from
    if since is None:
        return target
    if moment_fault(since) is not None:
        return f"{target} from {since}"  # it is complained about under some name
    text = datetime.fromtimestamp(since, UTC).isoformat()
    return f"{target} from {text[:10] if since % _DAY_S == 0 else text.replace('+00:00', 'Z')}"


def priced_model(vendor: str, model: str) -> str:
    """Give the one spelling that prices of a model are found under: Ollama's `x` and `x:latest` are one model."""
    return with_tag(model) if vendor == LOCAL else model


def _decimals(amount: Decimal) -> int:
    """Count the decimals that matter; the arithmetic of Decimal would round a long one first."""
    _, digits, exponent = amount.as_tuple()
    assert isinstance(exponent, int), "finite amounts only"
    ending = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return 0 if ending == len(digits) else -(exponent + ending)
