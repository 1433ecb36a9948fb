"""Rests: targets and vendor keys that were told to wait.

A 429 is a vendor guarding itself, not failing: it rests exactly the key or target it was said to and never
counts for a breaker. Times are monotonic seconds; how long comes from `retry_after.py` or the defaults here.
"""

REST_DEFAULT_S = 5.0
"""After a 429 that does not say how long."""

REST_MAX_S = 300.0
"""A vendor may ask for a day; after five minutes one question more does no harm."""

KEY_AUTH_REST_S = 60.0
"""A refused credential is set aside for this long, if there is another one."""

RESTS_MAX = 10_000
"""Targets and keys of any real catalogue fit; a leak does not."""


class Rests:
    """Until when each target or key rests."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def __repr__(self) -> str:
        return f"Rests({len(self._until)})"

    def rest(self, who: str, until: float) -> None:
        """Let one rest until then; a longer rest that it has already stays."""
        if len(self._until) >= RESTS_MAX and who not in self._until:
            del self._until[min(self._until, key=self._until.__getitem__)]  # the one that would end first
        self._until[who] = max(until, self._until.get(who, until))

    def resting(self, who: str, now: float) -> bool:
        """Whether one rests still."""
        return self.remaining_s(who, now) > 0

    def remaining_s(self, who: str, now: float) -> float:
        """Seconds that one still rests; 0 when it does not."""
        until = self._until.get(who)
        if until is None:
            return 0.0
        if until <= now:
            del self._until[who]
            return 0.0
        return until - now


def rest_s(told_s: float | None) -> float:
    """How long to rest: what the vendor told, within bounds, or the default."""
    return REST_DEFAULT_S if told_s is None else min(told_s, REST_MAX_S)
