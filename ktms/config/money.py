"""Dollars as an operator writes them, to and from whole micro-dollars; exact, never through a float."""

from decimal import Decimal

from ktms.domain.access.limits import LIMIT_MAX
from ktms.domain.units import MICROS_PER_USD

MICRO_DIGITS = 6


class DollarsInvalid(Exception):
    """Not an amount: negative, not finite, too large, or finer than a micro-dollar."""


def read_micros(dollars: Decimal) -> int:
    """Turn dollars into micro-dollars.

    Raises:
        DollarsInvalid: with the reason in words.
    """
    if not dollars.is_finite() or not 0 <= dollars <= LIMIT_MAX:
        raise DollarsInvalid(f"expected dollars between 0 and {LIMIT_MAX}")
    micros = int(dollars.scaleb(MICRO_DIGITS))
    if Decimal(micros).scaleb(-MICRO_DIGITS) != dollars:
        raise DollarsInvalid(f"expected dollars with at most {MICRO_DIGITS} decimals")
    return micros


def write_dollars(micros: int) -> Decimal:
    """Turn micro-dollars into dollars, without trailing zeros."""
    whole, rest = divmod(micros, MICROS_PER_USD)
    fraction = f"{rest:06d}".rstrip("0")
    return Decimal(f"{whole}.{fraction}" if fraction else str(whole))
