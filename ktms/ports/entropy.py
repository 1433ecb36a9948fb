"""Chance, as the engine needs it."""

from typing import Protocol


class Entropy(Protocol):
    """All randomness of the gateway: ids, key secrets, jitter."""

    def token_bytes(self, count: int) -> bytes:
        """Give `count` bytes fit for secrets."""
        ...

    def uniform(self, low: float, high: float) -> float:
        """Draw a number in [low, high], for jitter; not fit for secrets."""
        ...
