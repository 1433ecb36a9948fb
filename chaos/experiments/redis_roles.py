"""A Redis that answers, and is not what it should be: a replica, one that evicts, one without scripts: FR12, FR13.

Not here: a Redis that does not answer (`redis.py`).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import (
    EITHER,
    NODES,
    after_fault,
    answered_by,
    calls_of,
    ended,
    felt_by_all,
    good,
    placed,
    share,
    told,
)
from chaos.stand.settings import StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix
from sim.journal.calls import Call
from sim.journal.fact import Fact

READONLY, FORGETS, UNFIT = "redis_readonly", "redis_forgets_scripts", "redis_unfit"

EVICTS, RUNS_NO_SCRIPTS = 1.0, 2.0
"""Amounts of the fault, as the simulator has them."""

SAID = {EVICTS: "maxmemory-policy", RUNS_NO_SCRIPTS: "Lua scripts"}
"""A word of the line for each."""

STARTED = {EVICTS: "gw2", RUNS_NO_SCRIPTS: "gw3"}
"""The replica that is started anew meanwhile."""

ASK_S = 5.0

NOWHERE = ("127.0.0.1", 1)
"""Where no primary is."""

NOTICED_S = 1.0
"""Calls of the first second may have begun while it was still the one that writes."""

BACK_S = 3.0
"""Used again within this (FR10, FR12)."""

FLUSHED_S = 2.5
"""Calls go on so long without a restart after the scripts were lost."""

EDGE_S = 0.3
"""A lease is taken before its target is asked, and given back after it has told."""


@asynccontextmanager
async def _operator(stand: Stand) -> AsyncIterator[Redis]:
    """Ask Redis as its operator does, past every proxy."""
    redis = Redis.from_url(stand.services.redis.url(), socket_timeout=ASK_S, decode_responses=True)
    try:
        yield redis
    finally:
        await redis.aclose()


@asynccontextmanager
async def _is_replica_of_nobody(stand: Stand) -> AsyncIterator[None]:
    """Let it be a replica whose primary is not there, as an old primary is after a failover."""
    async with _operator(stand) as redis:
        await redis.replicaof(*NOWHERE)
        stand.fault(READONLY, on=True)
        try:
            yield
        finally:
            await redis.replicaof("NO", "ONE")
            stand.fault(READONLY, on=False)


@asynccontextmanager
async def _becomes_unfit(stand: Stand) -> AsyncIterator[None]:
    """Let it lose its scripts, then evict, then run none; a replica is started anew in each of the latter two."""
    async with _operator(stand) as redis:
        stand.fault(FORGETS, on=True)
        await redis.script_flush()
        await asyncio.sleep(FLUSHED_S)
        stand.fault(FORGETS, on=False)
        before = await redis.config_get("maxmemory*")
        await redis.config_set("maxmemory", 2**30)
        await redis.config_set("maxmemory-policy", "allkeys-lru")
        try:
            await _start_anew(stand, EVICTS)
        finally:
            await redis.config_set("maxmemory-policy", str(before["maxmemory-policy"]))
            await redis.config_set("maxmemory", str(before["maxmemory"]))
        user = str(await redis.acl_whoami())
        await redis.acl_setuser(user, enabled=True, categories=["-scripting"])
        try:
            await _start_anew(stand, RUNS_NO_SCRIPTS)
        finally:
            await redis.acl_setuser(user, enabled=True, categories=["+scripting"])
        yield


async def _start_anew(stand: Stand, how: float) -> None:
    gateway = stand.gateway(STARTED[how])
    stand.fault(UNFIT, on=True, amount=how)
    await gateway.term()
    await gateway.start()
    stand.fault(UNFIT, on=False, amount=how)


def _as_an_outage(broken: Broken) -> Iterator[Expected]:
    calls = ended(calls_of(broken, since_s=NOTICED_S, until_s=broken.ended_at - broken.began_at))
    either, only = placed(calls, *EITHER), placed(calls, NODES)
    by_cloud = answered_by(broken, good(either), "cloud")
    words = f"the cloud answers {share(len(by_cloud), len(either))}"
    yield Expected("FR12", len(by_cloud) == len(either) > 0, words)
    unknown = [call for call in told(only, "node_state_unknown") if call.status == 503]
    words = f"{share(len(unknown), len(only))} calls of the nodes alone are told so"
    yield Expected("FR12", len(unknown) == len(only) > 0, words)


def _passes_by_itself(broken: Broken) -> Iterator[Expected]:
    wanted = placed(ended(after_fault(broken, BACK_S)), NODES)
    nodes = answered_by(broken, good(wanted), "node")
    words = f"nodes answer {share(len(nodes), len(wanted))} of theirs {BACK_S:.0f} s later"
    yield Expected("FR12", len(nodes) == len(wanted) > 0, words)


def _replica(broken: Broken) -> Iterator[Expected]:
    yield from _as_an_outage(broken)
    yield from _passes_by_itself(broken)


def _still_held(broken: Broken) -> float:
    """Give the most slots that the store counted, after it was back, beyond the answers under way."""
    return max(
        (_beyond(broken, fact) for fact in broken.journal.of("slots_seen") if _is_after(broken, fact)), default=0.0
    )


def _is_after(broken: Broken, seen: Fact) -> bool:
    return broken.ended_at + BACK_S / 2 <= seen.at <= broken.ended_at + 2 * BACK_S


def _beyond(broken: Broken, seen: Fact) -> float:
    under_way = sum(
        one.target == seen.members["node"] and one.asked.at - EDGE_S <= seen.at <= one.told_at + EDGE_S
        for one in broken.watch.exchanges
    )
    return max(0.0, seen.number("busy") - under_way)


def _without_scripts(broken: Broken) -> list[Call]:
    """Give the calls of the nodes alone that were sent once the scripts were lost, and before all else."""
    spans = broken.watch.fault_spans(FORGETS)
    if not spans:
        return []
    return placed(
        ended(call for call in calls_of(broken) if spans[0].start <= call.sent_at <= spans[0].end), NODES
    )


def _unfit(broken: Broken) -> Iterator[Expected]:
    calls = _without_scripts(broken)
    fine = answered_by(broken, good(calls), "node")
    yield Expected(
        "FR13", len(fine) == len(calls) > 0, f"nodes answer {share(len(fine), len(calls))} without scripts"
    )
    lines = [fact for fact in broken.journal.of("log") if fact.text("name") == "redis_unfit"]
    for how, word in SAID.items():
        said = {fact.host for fact in lines if word in fact.text("text") and fact.text("level") == "error"}
        words = f"`{word}` is said by {', '.join(sorted(said)) or 'nobody'}"
        yield Expected("FR13", said == {STARTED[how]}, words)


def _failed_without_scripts(broken: Broken) -> float:
    calls = _without_scripts(broken)
    return float(len(calls) - len(good(calls)))


REDIS_ROLE_EXPERIMENTS = (
    Experiment(
        "redis-readonly",
        "Redis becomes a replica of nobody, and refuses what writes",
        ("FR12",),
        _is_replica_of_nobody,
        felt_by_all,
        _replica,
        spans=Spans(before_s=4.0, fault_s=6.0, after_s=8.0),
        settings=StandSettings(slots=32),
        mix=Mix(rate_per_s=40.0, long=0.3, long_tokens=300),
        figure=Figure("releases-are-kept", "slots still held of answers that have ended", _still_held, 4.0),
    ),
    Experiment(
        "redis-unfit",
        "Redis loses its scripts; two replicas start while it evicts, and while it runs none",
        ("FR13",),
        _becomes_unfit,
        lambda broken: len(_without_scripts(broken)),
        _unfit,
        felt_min=5,
        spans=Spans(before_s=2.0, fault_s=0.5, after_s=4.0),
        figure=Figure("scripts-come-back", "calls of the nodes alone that fail", _failed_without_scripts, 5.0),
    ),
)
