"""Chance that repeats: the same seed gives the same bytes, so a test or a world can be run again."""

import hashlib
import itertools


class SeededEntropy:
    """Implements the `Entropy` port; never for a gateway that somebody uses."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._draws = itertools.count()

    def token_bytes(self, count: int) -> bytes:
        """Give `count` bytes that no earlier draw gave."""
        return hashlib.shake_256(f"{self._seed}/{next(self._draws)}".encode()).digest(count)

    def uniform(self, low: float, high: float) -> float:
        """Draw a number in [low, high]."""
        share = int.from_bytes(self.token_bytes(_DRAW_BYTES), "big") / _DRAW_LARGEST
        return min(high, max(low, low + (high - low) * share))  # rounding must not lead out of the bounds


_DRAW_BYTES = 6  # 48 bits fit exactly into a float
_DRAW_LARGEST = (1 << 8 * _DRAW_BYTES) - 1
