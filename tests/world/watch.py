"""Waiting for something a protocol callback will bring about."""

import asyncio
from collections.abc import Callable

PATIENCE_S = 10.0
"""Loop seconds a test waits at most for what it says will happen: long for a loaded machine, short for a hang."""


class NeverHappened(AssertionError):
    """What a test waited for did not come in time."""


class Watch:
    """Wakes waiters whenever its owner's state changes; a waiter looks at the state itself."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    def changed(self) -> None:
        """Let all waiters look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, ready: Callable[[], bool], what: str, within_s: float | None = PATIENCE_S) -> None:
        """Wait until `ready()`; `within_s` None waits for ever.

        Raises:
            NeverHappened: `what` did not happen in `within_s` seconds of the loop's time.
        """
        try:
            async with asyncio.timeout(within_s):
                while not ready():
                    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiter)
                    await waiter
        except TimeoutError as error:
            raise NeverHappened(f"{what}: not within {within_s} s") from error
