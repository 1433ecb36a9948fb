"""A failover of Postgres in the middle of an apply: FP12.

Each apply is stopped when all but its audit is written, by a table that somebody holds; then its session is ended,
or the whole server killed. Not here: what a failover does to files and batches (the simulator).
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.gauges import gauges, note_gauge
from chaos.experiments.reading import ended, good, in_fault, share
from chaos.stand.catalogue import write_catalogue
from chaos.stand.gateway import WORLD, Gateway
from chaos.stand.process import Done
from chaos.stand.sessions import Sessions, sessions_of
from chaos.stand.settings import VENDOR_MODEL
from chaos.stand.stand import Stand

CODE, STORED = "apply_code", "apply_stored"
"""Gauges of an experiment's own: how the command ended, and how many of its entries are stored then."""

CUT, KILLED, WHOLE = "session-ended", "server-killed", "undisturbed"

HELD = "audit"
"""What an apply writes last."""

WAITS_WITHIN_S = 20.0
"""A command takes a second to start."""

READ_WITHIN_S = 20.0
"""A replica finds its database again within two seconds."""

READ_EVERY_S = 0.2

ENTRIES = 3
"""Models in each file."""

Stops = Callable[[Sessions, int], Awaitable[None]]


@asynccontextmanager
async def _applies_are_cut(stand: Stand) -> AsyncIterator[None]:
    """Cut two applies in their middle, and let a third one through."""
    gateway = stand.gateways[0]
    with tempfile.TemporaryDirectory(prefix="ktms-chaos-") as folder:
        stand.fault("postgres_failover", on=True)
        try:
            await _cut(stand, gateway, _file(Path(folder), CUT), _end_session)
            await _cut(stand, gateway, _file(Path(folder), KILLED), _kill_of(stand))
        finally:
            stand.fault("postgres_failover", on=False)
        await _settle(stand, gateway, WHOLE, await gateway.ktms("apply", "-f", _file(Path(folder), WHOLE)))
        yield


async def _cut(stand: Stand, gateway: Gateway, file: Path, stops: Stops) -> None:
    """Apply a file, and stop it before its end."""
    async with sessions_of(stand.database_url) as sessions, asyncio.TaskGroup() as group:
        await sessions.lock(HELD, "share")
        applying = group.create_task(gateway.ktms("apply", "-f", file))
        await stops(sessions, await sessions.waiting(HELD, WAITS_WITHIN_S))
        done = await applying
    await _settle(stand, gateway, file.stem, done)


async def _end_session(sessions: Sessions, session: int) -> None:
    await sessions.end(session)


def _kill_of(stand: Stand) -> Stops:
    async def kill(_sessions: Sessions, _session: int) -> None:
        postgres = stand.services.postgres
        await postgres.kill()
        await postgres.start()

    return kill


def _file(folder: Path, name: str) -> Path:
    """Write a file with models of its own."""
    target = {"vendor": "cloud-a", "model": VENDOR_MODEL}
    models = [{"name": model, "targets": [target]} for model in _names(name)]
    return write_catalogue(folder / f"{name}.yaml", {"version": 1, "models": models})


def _names(name: str) -> list[str]:
    return [f"{name}-{number}" for number in range(ENTRIES)]


async def _settle(stand: Stand, gateway: Gateway, name: str, done: Done) -> None:
    """Note how a command ended, and what of its file is stored."""
    note_gauge(stand, WORLD, CODE, done.code, name)
    stored = {model["name"] for model in await _stored_models(gateway)}
    note_gauge(stand, WORLD, STORED, len(stored & set(_names(name))), name)


async def _stored_models(gateway: Gateway) -> list[dict[str, str]]:
    """Read the stored models, as soon as the gateway can.

    Raises:
        TimeoutError: it cannot.
    """
    async with asyncio.timeout(READ_WITHIN_S):
        done = await gateway.ktms("export", "--json")
        while done.code:
            await asyncio.sleep(READ_EVERY_S)
            done = await gateway.ktms("export", "--json")
    models: list[dict[str, str]] = json.loads(done.out)["catalogue"]["models"]
    return models


def _all_or_nothing(broken: Broken) -> Iterator[Expected]:
    for name in (CUT, KILLED):
        codes, stored = gauges(broken, CODE, label=name), gauges(broken, STORED, label=name)
        words = f"{name}: the command ends with {codes}, {stored} of {ENTRIES} entries are stored"
        yield Expected("FP12", any(codes) and stored == [0.0], words)
    codes, stored = gauges(broken, CODE, label=WHOLE), gauges(broken, STORED, label=WHOLE)
    words = f"{WHOLE}: the command ends with {codes}, {stored} of {ENTRIES} entries are stored"
    yield Expected("FP12", codes == [0.0] and stored == [float(ENTRIES)], words)
    calls = ended(in_fault(broken))
    fine = good(calls)
    yield Expected("FP12", len(fine) == len(calls) > 0, f"{share(len(fine), len(calls))} calls are answered")


def _half_stored(broken: Broken) -> float:
    return sum(gauges(broken, STORED, label=CUT)) + sum(gauges(broken, STORED, label=KILLED))


FAILOVER_EXPERIMENTS = (
    Experiment(
        "apply-cut",
        "Postgres ends the session of an apply in its middle, then is killed in the middle of one",
        ("FP12",),
        _applies_are_cut,
        lambda broken: len(in_fault(broken)),
        _all_or_nothing,
        spans=Spans(before_s=1.0, fault_s=0.5, after_s=3.0),
        figure=Figure("apply-is-one-change", "entries stored of an apply that failed", _half_stored, 1.0),
    ),
)
