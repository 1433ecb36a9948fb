"""Finds the event for whose sake a ledger refuses a whole batch, so that it does not hold up all others for ever.

Rules: what comes before it is handed over at once; an event that is refused alone is set aside only after
PATIENCE_S, and only if the ledger takes one of its neighbours: one that refuses everything, for want of a right or
of an upgrade, gets everything later. What is set aside is told in full, so that it can be booked by hand.
Not here: when to send again (`outbox.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from ktms.domain.access.usage_event import UsageEvent
from ktms.ports.spool import Spool
from ktms.ports.telemetry import Count, Telemetry

PATIENCE_S = 60.0
"""An operator who has just upgraded one half is given so long for the other; a gateway keeps 10,000 events."""

NEIGHBOURS_MAX = 8
"""So many mistakes in a row are none of single events."""

REFUSED = "refused"

Send = Callable[[Sequence[UsageEvent]], Awaitable[str | None]]
"""Gives what went wrong, in one word; None: the ledger has them."""


class Sieve:
    """One per outbox; asked when a batch was refused."""

    def __init__(self, send: Send, spool: Spool, telemetry: Telemetry) -> None:
        self._send = send
        self._spool = spool
        self._telemetry = telemetry
        self._stuck: tuple[str, float] | None = None  # an event that is refused alone, and when to look again

    async def sift(self, events: Sequence[UsageEvent]) -> str | None:
        """Hand over what can be of a batch that was refused; None: some of it is done with, the rest is due."""
        first, now = events[0], asyncio.get_running_loop().time()
        if self._stuck is not None and self._stuck[0] == first.id and now < self._stuck[1]:
            return REFUSED
        failure = await self._hand_over_beginning(events)
        if failure != REFUSED:
            return failure
        is_stuck_for_long = self._stuck is not None and self._stuck[0] == first.id
        self._stuck = (first.id, now + PATIENCE_S)
        if not is_stuck_for_long or not await self._is_alone(events):
            return REFUSED
        self._set_aside(first)
        return None

    async def _hand_over_beginning(self, events: Sequence[UsageEvent]) -> str | None:
        """Send ever less of it; REFUSED: not even the first alone is taken."""
        size = max(1, len(events) // 2)
        while True:
            failure = await self._send(events[:size])
            if failure is None:
                self._spool.forget(size)
            if failure != REFUSED or size == 1:
                return failure
            size //= 2

    async def _is_alone(self, events: Sequence[UsageEvent]) -> bool:
        """Whether the ledger takes others; it knows them when they come again."""
        for event in events[1 : 1 + NEIGHBOURS_MAX]:
            failure = await self._send([event])
            if failure != REFUSED:
                return failure is None
        return False

    def _set_aside(self, event: UsageEvent) -> None:
        usage = event.usage
        self._spool.forget(1)
        self._stuck = None
        self._telemetry.counted(Count.USAGE_DROPPED, 1)
        self._telemetry.event(
            "error",
            "usage_event_set_aside",
            id=event.id,
            request_id=event.request_id,
            settled_at=event.started_at + event.duration_s,
            tenant=event.tenant,
            key=event.key_id,
            model=event.model,
            vendor=event.vendor,
            vendor_model=event.vendor_model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cost_picos=event.cost_picos,
        )
