"""What the virtual loop runs: callbacks, timers, tasks and futures, each with an order of its own.

Rules: tasks and futures hash by a number that counts up within their loop, so a set of them iterates alike in
every run, which it would not by address; timers of one instant fire in the order they were made; no private member
of asyncio's own handles is used. Not here: when anything runs (`sim/loop.py`).
"""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from pathlib import Path
from types import FrameType
from typing import TypeVar

from sim.hosts import HOST

T = TypeVar("T")

CANCELLED_MIN = 128
"""Cancelled timers that the heap holds before it is worth sweeping them out."""

PATH_PARTS = 3
"""Parts of a file's path that tell it apart."""


class Step(asyncio.Handle):
    """A callback to run as soon as possible. `off`: it was cancelled."""

    __slots__ = ("args", "callback", "context", "off")

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...], context: Context) -> None:
        # The constructor of asyncio's own handle asks the loop for its debug mode, once per callback.
        self.callback = callback
        self.args = args
        self.context = context
        self.off = False

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'cancelled' if self.off else self.callback}>"

    def cancel(self) -> None:
        """Do not run it."""
        if not self.off:
            self.off = True
            self.callback = _nothing
            self.args = ()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.off


class Timer(asyncio.TimerHandle):
    """A callback to run at an instant. `told`: that it fires belongs into the trace."""

    __slots__ = ("args", "at", "callback", "context", "off", "timers", "told")

    def __init__(
        self,
        timers: "Timers",
        at: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: Context,
        *,
        told: bool,
    ) -> None:
        self.timers: Timers | None = timers
        self.at = at
        self.callback = callback
        self.args = args
        self.context = context
        self.told = told
        self.off = False

    __hash__ = object.__hash__
    __eq__ = object.__eq__

    def __repr__(self) -> str:
        return f"<Timer at {self.at!r} {'cancelled' if self.off else self.callback}>"

    def cancel(self) -> None:
        """Do not run it."""
        if not self.off:
            self.off = True
            self.callback = _nothing
            self.args = ()
            if self.timers is not None:
                self.timers.cancelled += 1

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.off

    def when(self) -> float:
        """Give the instant, on the loop's clock."""
        return self.at


class Timers:
    """The timers that have not fired, a heap of (instant, number, timer)."""

    __slots__ = ("_made", "cancelled", "heap")

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timer]] = []
        self.cancelled = 0
        self._made = 0

    def add(
        self,
        at: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: Context,
        *,
        told: bool = True,
    ) -> Timer:
        """Set a timer."""
        if self.cancelled > CANCELLED_MIN and self.cancelled * 2 > len(self.heap):
            self._keep([entry for entry in self.heap if not entry[2].off])
            self.cancelled = 0
        timer = Timer(self, at, callback, args, context, told=told)
        self._made += 1
        heapq.heappush(self.heap, (at, self._made, timer))
        return timer

    def pop(self) -> Timer:
        """Take out the first one, cancelled or not."""
        timer = heapq.heappop(self.heap)[2]
        timer.timers = None
        if timer.off:
            self.cancelled -= 1
        return timer

    def take_of(self, incarnation: str) -> list[Timer]:
        """Take out all that one incarnation has set, in the order of their instants."""
        mine = [entry for entry in self.heap if entry[2].context.get(HOST) == incarnation]
        self._keep([entry for entry in self.heap if entry[2].context.get(HOST) != incarnation])
        self.cancelled = sum(entry[2].off for entry in self.heap)
        for entry in mine:
            entry[2].timers = None
        return [timer for _, _, timer in sorted(mine)]

    def _keep(self, entries: list[tuple[float, int, Timer]]) -> None:
        self.heap[:] = entries  # in place: the loop holds on to the list while it runs
        heapq.heapify(self.heap)


class Task(asyncio.Task[T]):
    """A task with a number."""

    def __init__(
        self,
        number: int,
        work: Coroutine[object, object, T] | Generator[object, None, T],
        loop: asyncio.AbstractEventLoop,
        name: object,
        context: Context | None,
    ) -> None:
        self.number = number  # before the rest: asyncio puts the task into a set at once
        called = f"Task-{number}" if name is None else str(name)  # asyncio's own numbers count on between worlds
        super().__init__(work, loop=loop, name=called, context=context)  # type: ignore[arg-type]  # generators too

    def __hash__(self) -> int:
        return self.number

    def say_nothing(self) -> None:
        """Be destroyed while pending without a word."""
        self._log_destroy_pending = False


class Future(asyncio.Future[T]):
    """A future with a number."""

    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self.number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self.number


def waits_at(task: asyncio.Task[object]) -> list[str]:
    """Say where a task waits, outermost first: file:line function, one line each."""
    places = []
    awaited: object = task.get_coro()
    while awaited is not None:
        frame = _first(awaited, ("cr_frame", "gi_frame", "ag_frame"))
        if isinstance(frame, FrameType):
            path = "/".join(Path(frame.f_code.co_filename).parts[-PATH_PARTS:])
            places.append(f"{path}:{frame.f_lineno} {frame.f_code.co_qualname}")
        awaited = _first(awaited, ("cr_await", "gi_yieldfrom", "ag_await"))
    return places


def _first(thing: object, names: tuple[str, ...]) -> object:
    return next((found for name in names if (found := getattr(thing, name, None)) is not None), None)


def _nothing() -> None:
    pass
