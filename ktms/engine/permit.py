"""A call's leave to ask somebody: what it may use at most is reserved before anybody is asked.

Rules: reserving is one round trip to the store, and so is taking a slot on a node, so both are under way at once;
a call that is refused gives its slot back unused. A key that was refused last time is answered first, so that one
over its limits takes no slots from others. A call that has to wait in a queue knows before that it may go on; a
line of a batch, which may wait for hours, reserves when it is its turn. Whatever is reserved is settled.
Not here: what is reserved and who is refused (`budget.py`), slots (`node_walk.py`).
"""

import asyncio
from types import TracebackType
from typing import Self

from ktms.engine.budget import Budget
from ktms.engine.place import Placed
from ktms.engine.trail import Trail
from ktms.ports.quota_store import Wish


class Permit:
    """Use as `async with` around all that a call asks of others."""

    def __init__(self, budget: Budget, trail: Trail, placed: Placed) -> None:
        self._budget = budget
        self._trail = trail
        self._placed = placed
        self._run = trail.call.run
        self._reserving: asyncio.Task[Wish | None] | None = None
        self._wish: Wish | None = None
        self._is_granted = False

    async def __aenter__(self) -> Self:
        key = self._trail.key
        assert key is not None
        if self._run is not None:
            return self
        match self._budget.is_limited(key), self._budget.was_refused(key):
            case False, _:
                self._is_granted = True
            case True, True:
                await self.granted()
            case _:
                # In no group: a refusal is to reach the call as it is. `__aexit__` sees to its end.
                self._reserving = asyncio.get_running_loop().create_task(self._reserve())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reserving = self._reserving
        try:
            if reserving is not None and not reserving.done():
                reserving.cancel()
                await asyncio.wait((reserving,))
        finally:
            if reserving is not None and reserving.done() and not reserving.cancelled():
                self._wish = reserving.result() if reserving.exception() is None else None
            if self._wish is not None or self._trail.uncounted:
                self._budget.settle(self._wish, self._trail)

    async def before_waiting(self) -> None:
        """Hold a call that may not go on from waiting for anything.

        Raises:
            CallFailed: as `granted`.
        """
        if self._run is None:
            await self.granted()

    async def granted(self) -> None:
        """Wait until it is reserved; again at no cost.

        Raises:
            CallFailed: 429 over a limit, 503 where dollars must be counted and cannot.
        """
        if self._is_granted:
            return
        if self._reserving is not None:
            await self._reserving
        else:
            self._wish = await self._reserve()
        self._is_granted = True
        if self._run is not None:
            self._run.asked = True

    async def _reserve(self) -> Wish | None:
        return await self._budget.reserve(self._trail, self._placed)
