"""What is patched inside a world, and that all of it is as before afterwards."""

import asyncio
import gc
import os
import random  # noqa: TID251 - what is patched is looked at
import secrets
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from aiohttp import helpers
from redis.asyncio.connection import AbstractConnection, Connection

from sim.ground import EPOCH, ground
from sim.loop import VirtualLoop
from sim.seed import Seed
from sim.trace import Trace


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = VirtualLoop(Seed(1).chance("loop"), Trace())
    yield made
    made.close()


def _pass_s(loop: VirtualLoop, seconds: float) -> None:
    loop.call_later(seconds, loop.stop)
    loop.run_forever()


def test_the_clocks_of_the_process_follow_the_loop(loop: VirtualLoop) -> None:
    with ground(Seed(1).chance("ground"), loop):
        _pass_s(loop, 2.5)
        clocks = (time.time(), time.monotonic())  # noqa: TID251 - as above
        assert clocks == (EPOCH + 2.5, loop.time())
        assert time.time_ns() == int((EPOCH + 2.5) * 1e9)


def test_the_clock_that_measures_stays_real(loop: VirtualLoop) -> None:
    with ground(Seed(1).chance("ground"), loop):
        before = time.perf_counter()
        _pass_s(loop, 3600)
        assert time.perf_counter() - before < 60


@pytest.mark.parametrize(
    "draw",
    [
        lambda: os.urandom(8),
        lambda: secrets.token_hex(8),
        random.random,
        lambda: str(uuid.uuid4()),  # noqa: TID251 - that libraries may call it is the point
    ],
)
def test_all_chance_comes_from_the_seed(loop: VirtualLoop, draw: Callable[[], object]) -> None:
    def drawn(seed: int) -> object:
        with ground(Seed(seed).chance("ground"), loop):
            return draw()

    assert drawn(1) == drawn(1) != drawn(2)


def test_the_global_generator_goes_on_afterwards_as_if_nothing_had_been(loop: VirtualLoop) -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    with ground(Seed(1).chance("ground"), loop):
        random.random()
    assert random.random() == expected


def test_a_thread_is_an_error(loop: VirtualLoop) -> None:
    with (
        ground(Seed(1).chance("ground"), loop),
        pytest.raises(RuntimeError, match="no threads in a world"),
    ):
        threading.Thread(target=int, name="one").start()


def test_the_date_that_aiohttp_remembers_does_not_leak(loop: VirtualLoop) -> None:
    outside = helpers.rfc822_formatted_time()
    with ground(Seed(1).chance("ground"), loop):
        inside = helpers.rfc822_formatted_time()
    assert inside == "Mon, 21 Sep 2026 14:13:20 GMT"
    assert helpers._cached_formatted_datetime == outside


def test_garbage_is_collected_outside_only(loop: VirtualLoop) -> None:
    assert gc.isenabled()
    with ground(Seed(1).chance("ground"), loop):
        assert not gc.isenabled()
    assert gc.isenabled()


def test_all_is_as_before_after_an_error_too(loop: VirtualLoop) -> None:
    def found() -> list[object]:
        owners = (
            (time, "time"),
            (time, "monotonic"),
            (os, "urandom"),
            (random, "_urandom"),
            (threading.Thread, "start"),
        )
        return [getattr(owner, name) for owner, name in owners]

    before = found()
    with pytest.raises(KeyError), ground(Seed(1).chance("ground"), loop):
        raise KeyError
    assert found() == before


def test_code_outside_of_tasks_finds_the_loop(loop: VirtualLoop) -> None:
    with ground(Seed(1).chance("ground"), loop):
        assert asyncio.get_event_loop_policy().get_event_loop() is loop


def test_a_connection_to_redis_that_nobody_closed_does_not_complain(loop: VirtualLoop) -> None:
    with ground(Seed(1).chance("ground"), loop):
        connection = Connection()
        connection._writer = object()  # type: ignore[assignment]  # as if it were connected
    assert connection._writer is None
    assert AbstractConnection.__init__.__qualname__ == "AbstractConnection.__init__"
