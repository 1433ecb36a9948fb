"""How late the event loop is: each stall is counted and told (FG7), one that stays late takes no calls (FG6).

Rules: one long stall refuses nobody, since what has queued up behind it is worked off; a loop that is late look
after look gets more than it can do, and a refusal now is worth more than an answer much too late. The first look
that comes in time opens it again. Not here: how many calls may be under way (`switchboard.py`).
"""

import asyncio

from ktms.ports.clock import Clock
from ktms.ports.telemetry import Count, Gauge, Telemetry

BLOCKED_S = 0.1
"""A stall from here on is one: every stream hesitates for as long, and a timeout of Redis is over."""

BEHIND_S = 0.4
"""As late as this a loop is far behind, well above what collecting garbage or a huge body cost."""

BEHIND_LOOKS = 3
"""So many looks in a row: more than a second of it. One stall, however long, makes a single look late."""

TELL_EVERY_S = 10.0
"""A line of the log at most this often: with the worst of the time between."""


class LoopWatch:
    """Run it beside the calls of one replica; `behind` says whether new ones are to be refused."""

    def __init__(self, clock: Clock, telemetry: Telemetry, every_s: float) -> None:
        self._every_s = every_s
        self._clock = clock
        self._telemetry = telemetry
        self._late_looks = 0
        self._worst_s = 0.0
        self._told_at: float | None = None

    @property
    def behind(self) -> bool:
        """Whether the loop has been far behind for several looks."""
        return self._late_looks >= BEHIND_LOOKS

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            due_at = self._clock.monotonic() + self._every_s
            await asyncio.sleep(self._every_s)
            self.looked(self._clock.monotonic() - due_at)

    def looked(self, late_s: float) -> None:
        """Take note of a look that came so late."""
        self._late_looks = self._late_looks + 1 if late_s >= BEHIND_S else 0
        self._telemetry.gauge(Gauge.LOOP_LAG_S, max(0.0, round(late_s, 3)))
        if late_s >= BLOCKED_S:
            self._telemetry.counted(Count.LOOP_BLOCKED)
            self._worst_s = max(self._worst_s, late_s)
        now = self._clock.monotonic()
        if self._worst_s and (self._told_at is None or now - self._told_at >= TELL_EVERY_S):
            self._telemetry.event("warning", "loop_blocked", seconds=round(self._worst_s, 3))
            self._told_at, self._worst_s = now, 0.0
