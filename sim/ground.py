"""The ground a world stands on: what Python code reaches past the loop, made virtual while the world lasts.

Clocks, the system's randomness, the global generator, threads, and caches of libraries that would carry one world
into the next. `perf_counter` and `process_time` stay real: they measure the simulator. Garbage is not collected,
since finalisers would run at moments that no seed decides.
Not here: `datetime.now` (written in C; our code takes the clock port), the clocks of hosts, which differ (fakes).
"""

import asyncio
import contextlib
import functools
import gc
import os
import random  # noqa: TID251  # the module that patches it
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

from aiohttp import helpers
from aiohttp.web_log import AccessLogger
from redis.asyncio.connection import AbstractConnection

from sim.loop import STARTS_AT, VirtualLoop
from sim.seed import Chance

EPOCH = 1_790_000_000.0
"""The Unix time at which every world begins: 2026-09-21."""

_Patch = tuple[object, str, object]


@contextlib.contextmanager
def ground(chance: Chance, loop: VirtualLoop) -> Iterator[None]:
    """Stand on virtual ground; left with or without an error, all is as it was.

    The loop is made asyncio's own inside; afterwards there is none, as after `asyncio.run`.
    """
    _freeze_imports()
    made: list[AbstractConnection] = []
    patches = [*_patches(chance, loop), (AbstractConnection, "__init__", _noting(made))]
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    kept_state = random.getstate()
    collected = gc.isenabled()
    gc.disable()
    try:
        _apply(patches)
        random.seed(chance.between(0, 2**64 - 1))
        asyncio.set_event_loop(loop)
        yield
    finally:
        asyncio.set_event_loop(None)
        random.setstate(kept_state)
        _apply(kept)
        _bury(made)
        if collected:
            gc.enable()


def _patches(chance: Chance, loop: VirtualLoop) -> list[_Patch]:
    def wall() -> float:
        return EPOCH + (loop.time() - STARTS_AT)

    return [
        (time, "time", wall),
        (time, "time_ns", lambda: int(wall() * 1e9)),
        (time, "monotonic", loop.time),
        (time, "monotonic_ns", lambda: int(loop.time() * 1e9)),
        (os, "urandom", chance.token_bytes),
        (random, "_urandom", chance.token_bytes),  # SystemRandom, so `secrets`, took its own reference
        (threading.Thread, "start", _no_thread),
        (helpers, "_cached_current_datetime", None),  # the Date header of aiohttp, made once per second
        (helpers, "_cached_formatted_datetime", ""),
        (AccessLogger, "_cached_tz", None),
        (AccessLogger, "_cached_tz_expires", 0.0),
    ]


def _noting(made: list[AbstractConnection]) -> Callable[..., None]:
    """Make a constructor that remembers each connection to Redis: nobody else knows those of killed processes."""
    construct = AbstractConnection.__init__

    def noted(connection: AbstractConnection, *args: object, **options: object) -> None:
        made.append(connection)
        construct(connection, *args, **options)  # type: ignore[arg-type]  # handed on as they came

    return noted


def _bury(made: list[AbstractConnection]) -> None:
    """Take the streams from connections that nobody closed, which would complain when they are collected."""
    for connection in made:
        connection._writer = connection._reader = None  # noqa: SLF001 - a corpse has no doors


def _apply(patches: list[_Patch]) -> None:
    for owner, name, value in patches:
        setattr(owner, name, value)


def _no_thread(thread: threading.Thread) -> NoReturn:
    raise RuntimeError(f"{thread.name} would be started: there are no threads in a world")


@functools.cache
def _freeze_imports() -> None:
    """Take what is there before the first world, modules above all, out of every later collection."""
    gc.freeze()
