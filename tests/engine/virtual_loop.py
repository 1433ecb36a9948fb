"""A loop whose time jumps to the next timer when nothing else is left to do.

Waiting costs nothing and takes exactly as long as it says; waiting for what will never come fails at once.
"""

import asyncio
import selectors
from typing import Any


class NothingWillHappen(AssertionError):
    """Everybody waits, and no timer is set."""


class _Selector(selectors.DefaultSelector):
    loop: "VirtualLoop"

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            self.loop.pass_time(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """Begins at 1,000 seconds."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self._now = 1_000.0
        super().__init__(selector)

    def time(self) -> float:
        """Give the virtual time."""
        return self._now

    def pass_time(self, seconds: float | None) -> None:
        """Let time pass; None is for ever."""
        if seconds is None:
            raise NothingWillHappen
        self._now += seconds


async def until(at: float) -> None:
    """Wait until the loop's time is `at`."""
    loop = asyncio.get_running_loop()
    reached = loop.create_future()
    loop.call_at(at, reached.set_result, None)
    await reached


async def after(seconds: float) -> None:
    """Wait as long as this."""
    await until(asyncio.get_running_loop().time() + seconds)


async def settle(turns: int = 50) -> None:
    """Let everything that is ready run, without time passing."""
    for _ in range(turns):
        await asyncio.sleep(0)
