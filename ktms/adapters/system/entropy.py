"""The real entropy: the operating system's, for secrets and for jitter alike."""

import os
import secrets


class SystemEntropy:
    """Implements the `Entropy` port."""

    __slots__ = ("_draw",)

    def __init__(self) -> None:
        self._draw = secrets.SystemRandom()

    def token_bytes(self, count: int) -> bytes:
        """Give `count` bytes fit for secrets."""
        return os.urandom(count)

    def uniform(self, low: float, high: float) -> float:
        """Draw a number in [low, high]."""
        return self._draw.uniform(low, high)
