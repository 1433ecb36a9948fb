"""Waiting for a fact of another process, which no future announces: look, pause briefly, look again."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_EVERY_S = 0.02
"""Between two looks at a process or a port: far below what any test measures."""

PATIENCE_S = 15.0
"""Long for a loaded machine, short for a hang."""

_pause = threading.Event()


class NeverHappened(AssertionError):
    """What a test waited for did not come in time."""


def now() -> float:
    """Give seconds that no clock change touches."""
    return time.perf_counter()


def until(fact: Callable[[], T | None], what: str, within_s: float = PATIENCE_S) -> T:
    """Give the fact as soon as it is one (not None, not false).

    Raises:
        NeverHappened: `what` did not happen in time.
    """
    deadline = now() + within_s
    while True:
        found = fact()
        if found:
            return found
        if now() >= deadline:
            raise NeverHappened(f"{what}: not within {within_s} s")
        _pause.wait(LOOK_EVERY_S)
