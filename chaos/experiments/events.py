"""Usage events that pile up, come again, or wait on a dead replica's disk: FL2, FL5, FL6.

That every attempt has one row, and that rows and sums agree, is what the judges say of every run (I2, I14). Not
here: a ledger that is away for a moment (`ledger.py`), a replica that leaves in order (`gateway.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager

import asyncpg

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import CLOUD, calls_of, good, unbooked
from chaos.stand.gateway import WORLD
from chaos.stand.held_rows import held_rows
from chaos.stand.settings import LEDGER, KeyWish, StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.flood import flood
from chaos.traffic.load import Mix
from chaos.traffic.question import Question
from sim.journal.calls import Call

VICTIM = "gw2"

UNHEARD_S = 6.2
"""Longer than one send may take, so that what the ledger has stored is given up and sent again."""

MUTED_S = 0.3
"""Answers that were on their way have come by then."""

WAITS_WITHIN_S = 8.0
"""Gateways send twice a second under traffic, and pause for up to five seconds after failures."""

SETTLED_S = 0.2
"""A client has its last byte a moment before its call is settled."""

FORGETFUL, KEEPING = "gw2", "gw1"
"""Of two replicas one has its events in memory alone."""

CACHED = "cached"

PILED = StandSettings(
    gateways=2,
    keys=(KeyWish("app-1"), KeyWish(CACHED, ("--cache-ttl", "600"))),
    memory_only=frozenset({FORGETFUL}),
)

MEMORY_EVENTS, BATCH_EVENTS = 10_000, 500
"""What a replica keeps in memory, and how many of them, the oldest, may be on their way and stay (FL2)."""

FLOOD_CALLS = MEMORY_EVENTS + 1_000

AT_ONCE_EVENTS = 50
"""Calls that end together are settled in any order."""

UNHEARD, MIDWAY = "events_unheard", "killed_midway"
"""Marks: so many rows were stored and nobody heard of it; somebody was killed in the middle of a transaction."""


async def _rows(stand: Stand) -> int:
    connection = await asyncpg.connect(stand.ledger_url, timeout=5.0, command_timeout=5.0)
    try:
        return int(await connection.fetchval("select count(*) from ledger.usage_event"))
    finally:
        await connection.close(timeout=5.0)


async def _is_not_heard(stand: Stand) -> None:
    """Let the ledger store what comes, and nobody hear that it has."""
    stand.fault("ledger_hung", on=True)
    await stand.ways[LEDGER].mute()
    await asyncio.sleep(MUTED_S)
    before = await _rows(stand)
    await asyncio.sleep(UNHEARD_S)
    stand.journal.note("mark", WORLD, name=UNHEARD, amount=await _rows(stand) - before)
    await stand.ways[LEDGER].heal()
    stand.fault("ledger_hung", on=False)


async def _ledger_dies_midway(stand: Stand) -> None:
    """Kill the service while its transaction waits; its database goes on, and has nobody to tell."""
    stand.fault("ledger_away", on=True)
    async with held_rows(stand.ledger_url, "ledger.usage_day") as held:
        if await held.until_somebody_waits(WAITS_WITHIN_S):
            stand.journal.note("mark", WORLD, name=MIDWAY)
        await stand.ledger.process.kill()
    await stand.ledger.start()
    stand.fault("ledger_away", on=False)


async def _postgres_dies_midway(stand: Stand) -> None:
    """Kill the server of all databases while the ledger's transaction waits: nothing of it is left."""
    stand.fault("postgres_away", on=True)
    async with held_rows(stand.ledger_url, "ledger.usage_day") as held:
        if await held.until_somebody_waits(WAITS_WITHIN_S):
            stand.journal.note("mark", WORLD, name=MIDWAY)
        await stand.services.postgres.kill()
        await stand.services.postgres.start()
    stand.fault("postgres_away", on=False)


@asynccontextmanager
async def _events_come_again(stand: Stand) -> AsyncIterator[None]:
    await _is_not_heard(stand)
    await _ledger_dies_midway(stand)
    await _postgres_dies_midway(stand)
    await _ledger_dies_midway(stand)
    yield


@asynccontextmanager
async def _dies_with_events(stand: Stand) -> AsyncIterator[None]:
    """Kill a replica twice while the ledger is away, so that it inherits from itself what it inherited."""
    victim = stand.gateway(VICTIM)
    async with faults.ledger_is_killed(stand):
        for _ in range(2):
            await asyncio.sleep(2.5)
            await victim.kill()
            await victim.start()
        yield


@asynccontextmanager
async def _events_pile_up(stand: Stand) -> AsyncIterator[None]:
    """Let both replicas have more events than memory holds, while the ledger is away."""
    question = Question("flood", KEEPING, CACHED, streamed=False, tokens=1, placement=CLOUD)
    async with faults.ledger_is_killed(stand):
        async with asyncio.TaskGroup() as floods:
            for name in (KEEPING, FORGETFUL):
                floods.create_task(flood(stand, question, name, FLOOD_CALLS))
        yield


def _doubled(broken: Broken, calls: Iterable[Call]) -> int:
    """Count the rows beyond one for each request that a target saw."""
    watch = broken.watch
    counts = ((len(watch.usages.get(call.request_id, ())), len(watch.asked(call))) for call in calls)
    return sum(max(0, rows - asked) for rows, asked in counts)


def _unheard(broken: Broken) -> int:
    return int(sum(fact.number("amount") for fact in broken.journal.of("mark") if fact.text("name") == UNHEARD))


def _booked_once(broken: Broken) -> Iterator[Expected]:
    calls = [call for call in broken.watch.calls.values() if call.request_id]
    fine, midway = good(calls), sum(fact.text("name") == MIDWAY for fact in broken.journal.of("mark"))
    lost, doubled = unbooked(broken, fine), _doubled(broken, calls)
    words = (
        f"{len(lost)} of {len(fine)} calls have no row, {doubled} rows are too many;"
        f" {midway} of 3 were killed in the middle of a transaction"
    )
    yield Expected("FL5", bool(fine) and not lost and not doubled and midway == 3, words)


def _at(broken: Broken, gateway: str) -> list[Call]:
    """Give the good calls of a replica from the fault on, in the order in which they ended."""
    calls = [call for call in good(calls_of(broken)) if call.gateway == gateway]
    return sorted(calls, key=lambda call: call.over_at)


def _counted(broken: Broken, gateway: str) -> int:
    return int(sum(fact.number("amount") for fact in broken.journal.of("usage_lost") if fact.host == gateway))


def _oldest_go(broken: Broken) -> Iterator[Expected]:
    keeping, forgetful = _at(broken, KEEPING), _at(broken, FORGETFUL)
    on_disk, in_memory = unbooked(broken, keeping), unbooked(broken, forgetful)
    lost, counted = {call.name for call in in_memory}, _counted(broken, FORGETFUL)
    newest = max((at for at, call in enumerate(forgetful) if call.name in lost), default=-1)
    older = [call for call in forgetful[: newest + 1] if call.name not in lost]
    words = (
        f"{len(on_disk)} of {len(keeping)} are lost with a spool; without one {len(lost)} of {len(forgetful)},"
        f" {counted} counted, and {len(older)} older ones kept"
    )
    right = len(lost) == counted > 0 and len(older) <= BATCH_EVENTS + AT_ONCE_EVENTS
    yield Expected("FL2", len(keeping) > MEMORY_EVENTS and not on_disk and right, words)


def _of_victim(broken: Broken) -> list[Call]:
    """Give the good calls of the victim that were surely settled before it was killed, the ledger being away."""
    deaths = [fact.at for fact in broken.journal.of("host_crashed") if fact.host == VICTIM]
    return [
        call
        for call in good(calls_of(broken))
        if call.gateway == VICTIM and any(call.over_at < at - SETTLED_S for at in deaths)
    ]


def _replayed(broken: Broken) -> Iterator[Expected]:
    calls = _of_victim(broken)
    lost, doubled = unbooked(broken, calls), _doubled(broken, broken.watch.calls.values())
    words = f"{len(lost)} of {len(calls)} calls before a kill have no row, {doubled} rows are too many"
    yield Expected("FL6", bool(calls) and not lost and not doubled, words)


def _lost_by_victim(broken: Broken) -> float:
    return len(unbooked(broken, _of_victim(broken)))


EVENT_EXPERIMENTS = (
    Experiment(
        "events-pile-up",
        "the ledger is away for more events than memory holds, of a replica with a spool and of one without",
        ("FL2",),
        _events_pile_up,
        lambda broken: _counted(broken, FORGETFUL),
        _oldest_go,
        spans=Spans(before_s=2.0, fault_s=0.5, after_s=4.0),
        settings=PILED,
        mix=Mix(rate_per_s=10.0, leavers=0.0, strangers=0.0, placements={None: 0.5, CLOUD: 0.5}),
        figure=Figure(
            "events-on-disk",
            "calls of the replica with a spool which are booked nowhere",
            lambda broken: len(unbooked(broken, _at(broken, KEEPING))),
            worse_min=100.0,
        ),
    ),
    Experiment(
        "events-come-again",
        "the ledger stores what nobody hears of, and dies three times in the middle of a transaction",
        ("FL5",),
        _events_come_again,
        _unheard,
        _booked_once,
        spans=Spans(fault_s=1.0),
        mix=Mix(placements={None: 0.7, CLOUD: 0.3}),
        figure=Figure(
            "ids-are-kept",
            "rows beyond one for each attempt",
            lambda broken: _doubled(broken, broken.watch.calls.values()),
            worse_min=20.0,
        ),
    ),
    Experiment(
        "events-of-the-dead",
        "a replica is killed twice while the ledger is away",
        ("FL6",),
        _dies_with_events,
        lambda broken: len(_of_victim(broken)),
        _replayed,
        spans=Spans(fault_s=2.0),
        figure=Figure(
            "events-on-disk", "calls of a replica that was killed which are booked nowhere", _lost_by_victim, 20.0
        ),
    ),
)
