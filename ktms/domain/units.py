"""Units that more than one room counts in."""

import math

MICROS_PER_USD = 1_000_000
"""Budgets are whole micro-dollars: integers never drift."""

MS_PER_S = 1000
US_PER_S = 1_000_000


def whole_seconds_up(seconds: float) -> int:
    """Round up to whole seconds, at least 1: what `Retry-After` may carry (RFC 9110, 10.2.3)."""
    return max(1, math.ceil(seconds))
