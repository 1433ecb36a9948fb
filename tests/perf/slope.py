"""Does memory grow with the number of requests? Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WARM_UP_SHARE = 0.25
"""Caches, pools and the allocator's arenas fill in the first part; a leak goes on after it."""


@dataclass(frozen=True, slots=True)
class Slope:
    """Bytes per request, with the standard error of that figure."""

    bytes_per_request: float
    error: float

    @property
    def beyond_noise(self) -> float:
        """The part that two standard errors do not explain; never below zero."""
        return max(0.0, self.bytes_per_request - 2 * self.error)


def fit(points: Sequence[tuple[float, float]]) -> Slope:
    """Fit memory over requests by least squares, the warm-up left out; needs five points or more after it."""
    kept = points[int(len(points) * WARM_UP_SHARE) :]
    assert len(kept) >= 5, "too few points for a line with an error"  # two are used up by the line
    mean_x = sum(x for x, _ in kept) / len(kept)
    mean_y = sum(y for _, y in kept) / len(kept)
    spread = sum((x - mean_x) ** 2 for x, _ in kept)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in kept) / spread
    left = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in kept)
    return Slope(slope, math.sqrt(left / (len(kept) - 2) / spread))
