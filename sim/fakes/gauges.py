"""What the gauges of a machine say of its load: that of each of its engines, as it was a while ago.

A machine may be several engines behind one address, and others than the gateways may ask them: their calls run all
the time, and take slots. Not here: the text of the metrics (`engines/`).
"""

import asyncio
from collections import deque

from sim.draft import NodeDraft, VendorDraft


class Gauges:
    """The gauges of one machine. `elsewhere`: calls of others that run there, in all its engines together."""

    def __init__(self, draft: VendorDraft | NodeDraft) -> None:
        node = draft if isinstance(draft, NodeDraft) else NodeDraft(draft.name)
        self.elsewhere = sum(node.elsewhere)
        self._of_others = node.elsewhere or (0,)
        self._lag_s = node.gauge_lag_s
        self._seen: deque[tuple[float, int, int]] = deque()

    def note(self, running: int, waiting: int) -> None:
        """Take what it does from now on."""
        now = self._now()
        while len(self._seen) > 1 and self._seen[1][0] <= now - self._lag_s:
            self._seen.popleft()  # a later one is old enough to be told
        self._seen.append((now, running, waiting))

    def told(self) -> tuple[tuple[int, int], ...]:
        """Give what runs and what waits in each engine, as the gauges have it."""
        latest = self._now() - self._lag_s
        _, running, waiting = next((one for one in reversed(self._seen) if one[0] <= latest), (0.0, 0, 0))
        count = len(self._of_others)
        return tuple(
            (others + (running + at) // count, (waiting + at) // count)
            for at, others in enumerate(self._of_others)
        )

    def total(self) -> tuple[int, int]:
        """Give what runs and what waits in all of them."""
        running, waiting = zip(*self.told(), strict=True)
        return sum(running), sum(waiting)

    def _now(self) -> float:
        return asyncio.get_running_loop().time() if self._lag_s else 0.0
