"""A loop, and short words for what tests do with it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from sim.loop import VirtualLoop
from sim.seed import Seed
from sim.trace import Trace


def make_loop(seed: int = 1, *, noise: float = 0.0, trace: Trace | None = None) -> VirtualLoop:
    return VirtualLoop(Seed(seed).chance("loop"), trace or Trace(), noise=noise)


def run(loop: VirtualLoop, work: Coroutine[Any, Any, object], on: str = "a#1") -> object:
    return loop.run_until_complete(loop.start_on(on, work, name="test"))


def begin(loop: VirtualLoop, work: Coroutine[Any, Any, object], on: str, name: str = "work") -> None:
    assert not loop.start_on(on, work, name=name).done()


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()
