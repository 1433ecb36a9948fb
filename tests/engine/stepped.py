"""Runs a coroutine and cancels it at one of its suspension points, exactly as a client that leaves does."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Stepped(Generic[T]):
    """Await it in place of `work`. `suspensions` counts how often the work had to wait so far."""

    def __init__(self, work: Coroutine[Any, Any, T], *, cancel_at: int | None = None) -> None:
        self._work = work
        self._cancel_at = cancel_at
        self.suspensions = 0

    def __await__(self) -> Generator[Any, Any, T]:
        error: BaseException | None = None
        while True:
            try:
                waits_for = self._work.send(None) if error is None else self._work.throw(error)
            except StopIteration as end:
                value: T = end.value
                return value
            error = None
            self.suspensions += 1
            if self.suspensions == self._cancel_at:
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - whatever is thrown in belongs to the work
                error = thrown
