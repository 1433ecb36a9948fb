"""The guards of the product that can be taken away, so that a figure which they keep good is seen to get worse.

A guard is taken away by an edit of one function, as the simulator plants its bugs; the product itself has no
switch for it. Places are named and not imported: they exist in the gateway's process alone. Not here: the process
(`unguarded.py`), the figures (`chaos/experiments`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """One guard. `place` is `module:Class.function`; without the guard `old` reads `new` there."""

    id: str
    title: str
    place: str
    old: str
    new: str


GUARDS: dict[str, Guard] = {
    guard.id: guard
    for guard in (
        Guard(
            "redis-left-alone",
            "Redis is left alone for 2 s after three network errors",
            "ktms.adapters.redis.guard:Guard.failed",
            "if self._errors >= self.errors_max:",
            "if False:",
        ),
    )
}
