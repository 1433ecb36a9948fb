"""A gateway until a signal: the first one drains in order, the second one ends at once (FG1, FG2)."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from ktms.app.failed import StartFailed
from ktms.app.gateway import Gateway

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stops:
    """Counts the signals that ask the process to end."""

    def __init__(self) -> None:
        self.drain = asyncio.Event()
        self.at_once = asyncio.Event()

    def asked(self) -> None:
        """Note one more signal."""
        if self.drain.is_set():
            self.at_once.set()
        self.drain.set()


@contextmanager
def stop_signals() -> Iterator[Stops]:
    """Turn SIGTERM and SIGINT into events while the block runs."""
    loop = asyncio.get_running_loop()
    stops = Stops()
    for number in SIGNALS:
        loop.add_signal_handler(number, stops.asked)
    try:
        yield stops
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def run_until_stopped(
    gateway: Gateway, stops: Stops, works: Sequence[Callable[[], Awaitable[None]]]
) -> None:
    """Run the background works of a started gateway until a signal; then drain it, or end it at once.

    Raises:
        StartFailed: one of the works found that the gateway must not run.
    """
    refusals: list[StartFailed] = []
    try:
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(_run(work)) for work in works]
            await stops.drain.wait()
            draining = group.create_task(gateway.drain())
            hurried = group.create_task(stops.at_once.wait())
            await asyncio.wait((draining, hurried), return_when=asyncio.FIRST_COMPLETED)
            for task in (draining, hurried, *running):
                task.cancel()
    except* StartFailed as failed:
        refusals.extend(_leaves(failed))
    finally:
        await gateway.stop()
    if refusals:
        raise refusals[0]


async def _run(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def _leaves(group: BaseExceptionGroup[StartFailed]) -> Iterator[StartFailed]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
