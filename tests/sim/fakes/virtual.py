"""Runs a piece of work on virtual time, alone on its loop."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from sim.loop import VirtualLoop
from sim.seed import Seed
from sim.trace import Trace

T = TypeVar("T")


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    loop = VirtualLoop(Seed(1).chance("noise"), Trace())
    try:
        made = loop.run_until_complete(work())
    finally:
        loop.close()
    assert loop.unhandled == []
    return made
