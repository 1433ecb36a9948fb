"""Faults of whole replicas: killed, hurried out, restarted one after the other. How fast slots return is measured.

Not here: what must be seen then (`gateway.py`).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chaos.experiments.experiment import Breaks
from chaos.experiments.gauges import note_gauge
from chaos.stand.stand import Stand

SLOTS_BACK = "slots_back_s"
GONE_AFTER = "gone_after_s"
"""Gauges: from the end of a replica until its slots are free; from the second signal until it is gone."""

LOOK_EVERY_S = 0.2

WATCHED_S = 20.0
"""Well beyond the time of a lease (15 s): what is not back by then stays taken."""

HURRIED_AFTER_S = 0.4
"""Between the two signals: it has begun to leave, and its delay for balancers is not over."""


@asynccontextmanager
async def slots_are_watched(stand: Stand, name: str) -> AsyncIterator[None]:
    """Measure how long the leases that live now go on living; the block is not left before all are over.

    They may be anybody's: those of other replicas are over with their answers, well before a dead one's.
    """
    since, held = stand.journal.now_s, await stand.slots.held() or frozenset()
    yield
    while held and stand.journal.now_s - since < WATCHED_S:
        await asyncio.sleep(LOOK_EVERY_S)
        living = await stand.slots.held()
        held = held if living is None else held & living
    note_gauge(stand, name, SLOTS_BACK, stand.journal.now_s - since)


def killed(name: str) -> Breaks:
    """Kill a replica (SIGKILL), and wait until its slots are free; it is started again with the rest."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        await stand.gateway(name).kill()
        async with slots_are_watched(stand, name):
            yield

    return broken


def hurried(name: str) -> Breaks:
    """Send a replica SIGTERM twice, and wait until its slots are free; it is started again with the rest."""

    @asynccontextmanager
    async def broken(stand: Stand) -> AsyncIterator[None]:
        gateway = stand.gateway(name)
        gateway.ask_to_leave()
        await asyncio.sleep(HURRIED_AFTER_S)
        hurried_at = stand.journal.now_s
        gateway.ask_to_leave()
        await gateway.has_left()
        note_gauge(stand, name, GONE_AFTER, stand.journal.now_s - hurried_at)
        async with slots_are_watched(stand, name):
            yield

    return broken


@asynccontextmanager
async def restarted_in_turn(stand: Stand) -> AsyncIterator[None]:
    """Let each replica leave (SIGTERM), start it again, and go on to the next once it is ready."""
    for gateway in stand.gateways:
        await gateway.term()
        await gateway.start()
        await gateway.until_ready()
    yield
