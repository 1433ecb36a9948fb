"""Limits of a key or tenant as the operator wrote them. How they are counted is in `quota.py`."""

from dataclasses import dataclass

LIMIT_MAX = 1_000_000_000
"""Of requests, tokens and dollars: only typing errors lie above, and all counters stay exact below."""

DOLLARS_MAX_MICROS = LIMIT_MAX * 1_000_000
"""The same in micro-dollars, as limits of dollars are kept."""


@dataclass(frozen=True, slots=True)
class Limits:
    """None means unlimited. Rates are per minute (UTC wall time plays no part); dollars are micro-dollars."""

    rpm: int | None = None
    tpm: int | None = None
    concurrent: int | None = None
    usd_per_day_micros: int | None = None
    usd_per_month_micros: int | None = None

    @property
    def any(self) -> bool:
        """Whether anything is limited at all."""
        return self != UNLIMITED

    @property
    def dollars(self) -> bool:
        """Whether dollars are limited."""
        return self.usd_per_day_micros is not None or self.usd_per_month_micros is not None


UNLIMITED = Limits()
