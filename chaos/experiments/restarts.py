"""Replicas that start while Postgres is away: FP9.

One has saved what it needs to start alone, one has not; a third runs all the time. Not here: how old a saved
snapshot may be (the simulator), Postgres that goes away later (`postgres.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import after_fault, ended, good, in_fault, looks, share
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import POSTGRES, KeyWish, StandSettings
from chaos.stand.stand import Stand
from sim.journal.calls import Call

SAVES, WAITS, STAYS = "gw1", "gw2", "gw3"

SAVED_WITHIN_S = 20.0
"""A replica saves after each refresh, which is due every 5 s, a fifth more or less."""

SAVES_MIN = 2
"""More than there were when the fault began: then the keys in use are among what was saved."""

ALIVE_EVERY_S = 0.5

UP_S = 1.0
"""Calls that were sent sooner after a start may meet a process that is not there yet."""

BACK_S = 4.0
"""Found again within this."""

SETTINGS = StandSettings(
    keys=(*StandSettings().keys, KeyWish("app-4")),  # four keys and three replicas: each key comes to each
    saved=frozenset({SAVES}),
)


@asynccontextmanager
async def _start_without_postgres(stand: Stand) -> AsyncIterator[None]:
    """Kill two replicas, and start them while Postgres refuses every connection."""
    await _has_saved(stand)
    over = asyncio.Event()
    async with faults.of_proxy(POSTGRES, "postgres_away", _down_of)(stand):
        for name in (SAVES, WAITS):
            await stand.gateway(name).kill()
        for name in (SAVES, WAITS):
            await stand.gateway(name).start()
        async with asyncio.TaskGroup() as watching:
            watching.create_task(_is_alive(stand, over))
            try:
                yield
            finally:
                over.set()


async def _has_saved(stand: Stand) -> None:
    """Wait until the keys in use are saved.

    Raises:
        ProcessFailed: the replica does not save.
    """
    gateway = stand.gateway(SAVES)
    wanted = await _saves(stand) + SAVES_MIN

    async def look() -> bool:
        return await _saves(stand) >= wanted

    await gateway.process.wait_ready(look, SAVED_WITHIN_S)


async def _saves(stand: Stand) -> float:
    return await stand.gateway(SAVES).metric("ktms_snapshot_saves_total", result="saved") or 0.0


async def _is_alive(stand: Stand, over: asyncio.Event) -> None:
    gateway = stand.gateway(WAITS)
    while not over.is_set():
        page = await gateway.page("/healthz")
        stand.journal.note("healthz", WAITS, status=0 if page is None else page[0])
        await asyncio.sleep(ALIVE_EVERY_S)


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


def _started_at(broken: Broken, name: str) -> float:
    """Give when a replica listened again."""
    ups = [fact.at for fact in broken.journal.of("host_up") if fact.host == name and fact.at > broken.began_at]
    return ups[0] if ups else broken.ended_at


def _calls_at(broken: Broken, name: str) -> list[Call]:
    """Give the calls to a replica from its start until the fault ended."""
    since = _started_at(broken, name) + UP_S
    return [call for call in ended(in_fault(broken)) if call.gateway == name and call.sent_at >= since]


def _with_snapshot(broken: Broken) -> Iterator[Expected]:
    calls = _calls_at(broken, SAVES)
    fine = good(calls)
    seen = looks(broken, _started_at(broken, SAVES), broken.ended_at, SAVES)
    degraded = [fact for fact in seen if (fact.members["status"], fact.members["state"]) == (200, "degraded")]
    words = f"{share(len(fine), len(calls))} calls are answered from what was saved"
    yield Expected("FP9", len(fine) == len(calls) > 0, words)
    words = f"{share(len(degraded), len(seen))} looks at it say degraded"
    yield Expected("FP9", len(degraded) == len(seen) > 0, words)


def _without_snapshot(broken: Broken) -> Iterator[Expected]:
    since = _started_at(broken, WAITS)
    seen = looks(broken, since, broken.ended_at, WAITS)
    unready = [fact for fact in seen if fact.members["status"] == 503]
    pages = [fact for fact in broken.journal.of("healthz") if fact.host == WAITS]
    alive = [fact for fact in pages if fact.number("status") == 200]
    starts = [fact for fact in broken.journal.of("host_up") if fact.host == WAITS and fact.at >= since]
    words = f"{share(len(unready), len(seen))} looks say not ready, {share(len(alive), len(pages))} alive"
    yield Expected(
        "FP9", len(unready) == len(seen) > 0 and len(alive) == len(pages) > 0 and len(starts) == 1, words
    )


def _is_found_again(broken: Broken) -> Iterator[Expected]:
    calls = ended(after_fault(broken, BACK_S))
    fine = good(calls)
    replicas = {call.gateway for call in fine}
    words = f"{share(len(fine), len(calls))} calls are answered afterwards, by {len(replicas)} replicas"
    yield Expected("FP9", len(fine) == len(calls) > 0 and replicas == {SAVES, WAITS, STAYS}, words)


def _expects(broken: Broken) -> Iterator[Expected]:
    yield from _with_snapshot(broken)
    yield from _without_snapshot(broken)
    yield from _is_found_again(broken)


def _failed_there(broken: Broken) -> float:
    calls = _calls_at(broken, SAVES)
    return float(len(calls) - len(good(calls)))


RESTART_EXPERIMENTS = (
    Experiment(
        "postgres-away-at-start",
        "two replicas are started anew while Postgres refuses every connection",
        ("FP9",),
        _start_without_postgres,
        lambda broken: len(_calls_at(broken, SAVES)),
        _expects,
        spans=Spans(before_s=1.0, fault_s=5.0, after_s=8.0),
        settings=SETTINGS,
        figure=Figure("start-from-disk", "calls that fail at the replica with a file", _failed_there, 20.0),
    ),
)
