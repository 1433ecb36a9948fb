"""Chance of one simulated gateway, all of it from one stream of the world's seed."""

from sim.seed import Chance


class SimEntropy:
    """Implements the `Entropy` port; nothing of it is fit for secrets that anybody relies on."""

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def token_bytes(self, count: int) -> bytes:
        """Give `count` bytes."""
        return self._chance.token_bytes(count)

    def uniform(self, low: float, high: float) -> float:
        """Draw a number in [low, high]."""
        return min(high, max(low, self._chance.uniform(low, high)))  # rounding must not lead out of the bounds
