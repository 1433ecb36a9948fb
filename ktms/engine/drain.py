"""Whether this replica takes calls: serving, leaving, gone; and how many calls are under way.

The order of a shutdown (docs/operations.md, Drain): `leave` turns readiness off while the listener stays open
for the balancer; `close` refuses new calls; `quiet` waits for those under way; `cut` ends those that are left
with a last word. Not here: the listener and the signals (app).
"""

import asyncio
from enum import Enum


class Phase(Enum):
    """Phases follow one another in this order and never go back."""

    SERVING = "serving"
    LEAVING = "leaving"  # not ready, but still taking calls
    CLOSED = "closed"  # taking none


class Drain:
    """Counts the calls under way and says when there are none."""

    def __init__(self) -> None:
        self.phase = Phase.SERVING
        self.cutting = False
        self._calls: dict[asyncio.Task[object], None] = {}  # a dict, since sets have no order to repeat
        self._quiet: asyncio.Future[None] | None = None

    @property
    def inflight(self) -> int:
        """Calls under way."""
        return len(self._calls)

    @property
    def leaving(self) -> bool:
        """Whether a balancer should send calls elsewhere."""
        return self.phase is not Phase.SERVING

    @property
    def takes_calls(self) -> bool:
        """Whether a new call may begin."""
        return self.phase is not Phase.CLOSED

    def leave(self) -> None:
        """Begin to leave: readiness turns off at once."""
        if self.phase is Phase.SERVING:
            self.phase = Phase.LEAVING

    def close(self) -> None:
        """Refuse new calls from here on."""
        self.phase = Phase.CLOSED

    def entered(self) -> asyncio.Task[object]:
        """Count the call of the current task, and give that task: what `left` wants to have back."""
        task = asyncio.current_task()
        assert task is not None, "a call runs in a task"
        self._calls[task] = None
        return task

    def left(self, task: asyncio.Task[object]) -> None:
        """Count the call of this task off."""
        assert task in self._calls, "a call left that never entered"
        del self._calls[task]
        if not self._calls and self._quiet is not None and not self._quiet.done():
            self._quiet.set_result(None)

    def cut(self) -> None:
        """Interrupt the calls still under way; each tells its client why."""
        self.cutting = True
        for task in tuple(self._calls):
            task.cancel()

    async def quiet(self) -> None:
        """Wait until no call is under way."""
        while self.inflight:
            self._quiet = asyncio.get_running_loop().create_future()
            await self._quiet
