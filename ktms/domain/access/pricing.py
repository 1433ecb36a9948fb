"""What tokens cost: prices with the day they begin, and exact sums.

Rules: amounts are whole pico-dollars (a price per million tokens with at most six decimals is whole per token), so
nothing is ever rounded but once, upward, where a budget is charged in micro-dollars. Of several prices of one
target the one counts that began last. A target without a price costs 0 (`catalogue_warnings.py` says so).
Not here: reading prices (config), compiling them (`domain/price_compile.py`), who is charged (`quota.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from ktms.domain.conversation.usage import Usage
from ktms.domain.ids import VendorModel, VendorName

PICOS_PER_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """Pico-dollars per token of one target, from `valid_from` on (wall seconds since 1970; None: always)."""

    input_picos: int
    output_picos: int
    cached_picos: int
    cache_write_picos: int
    valid_from: float | None = None

    def cost_picos(self, usage: Usage) -> int:
        """Cost of an answer: cached and cache-written tokens are part of the prompt's, at prices of their own."""
        prompt, cached, written = usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens
        picos = usage.completion_tokens * self.output_picos
        if not (cached or written):
            return picos + prompt * self.input_picos
        cached = min(cached, prompt)
        written = min(written, prompt - cached)
        fresh = prompt - cached - written
        return picos + fresh * self.input_picos + cached * self.cached_picos + written * self.cache_write_picos

    def most_picos(self, prompt_tokens: int, answer_tokens: int) -> int:
        """Cost at most of an answer yet to come: the whole prompt at the dearest of its prices."""
        dearest = max(self.input_picos, self.cached_picos, self.cache_write_picos)
        return prompt_tokens * dearest + answer_tokens * self.output_picos


def micros_up(picos: int) -> int:
    """Give what a budget is charged: whole micro-dollars, rounded up."""
    return -(-picos // PICOS_PER_MICRO)


@final
class PriceTable:
    """Prices of all targets; look-ups are two steps in memory."""

    __slots__ = ("_by_target",)

    def __init__(self, by_target: Mapping[tuple[str, str], tuple[Price, ...]]) -> None:
        self._by_target = by_target

    def __repr__(self) -> str:
        return f"PriceTable({len(self._by_target)} targets)"

    def at(self, vendor: VendorName, vendor_model: VendorModel, wall: float) -> Price | None:
        """Give the price of a target at a wall time (seconds since 1970); None: it has none yet."""
        for price in self._by_target.get((vendor, vendor_model), ()):
            if price.valid_from is None or price.valid_from <= wall:
                return price
        return None


NO_PRICES = PriceTable({})
