"""Keys that cannot be asked for, and keys that are revoked unheard: FP10, FP11.

Not here: a Postgres that is away (`postgres.py`).
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import ended, good, in_fault, key_of, share
from chaos.proxy.proxy import Proxy
from chaos.stand.client_keys import STRANGER, revoke_key
from chaos.stand.gateway import WORLD
from chaos.stand.sessions import Sessions, sessions_of
from chaos.stand.settings import NEWS, KeyWish, StandSettings
from chaos.stand.stand import Stand
from chaos.traffic.load import Mix
from sim.journal.calls import Call

SESSIONS = "postgres_sessions"
"""The gauge of an experiment's own: sessions of one replica, as the server counts them."""

SESSIONS_MAX = 25
"""What one replica may have (FP10)."""

COUNTED_EVERY_S = 0.1

LOOK_UP_S = 3.0
"""One look-up in all, its wait for a place included (FP3, FP10)."""

SLACK_S = 1.0

ALONE = StandSettings(gateways=1)
"""One replica has all sessions there are."""


@asynccontextmanager
async def _keys_are_locked(stand: Stand) -> AsyncIterator[None]:
    """Let somebody hold the table of keys, so that every look-up waits for it; count the sessions meanwhile."""
    over = asyncio.Event()
    async with sessions_of(stand.database_url) as sessions, asyncio.TaskGroup() as counting:
        await sessions.lock("client_key")
        stand.fault("keys_locked", on=True)
        counting.create_task(_count(stand, sessions, over))
        try:
            yield
        finally:
            await sessions.unlock()
            stand.fault("keys_locked", on=False)
            over.set()


async def _count(stand: Stand, sessions: Sessions, over: asyncio.Event) -> None:
    [gateway] = stand.gateways
    while not over.is_set():
        count = await sessions.count()
        stand.journal.note("gauge", WORLD, name=SESSIONS, label=gateway.name, value=count)
        await asyncio.sleep(COUNTED_EVERY_S)


def _most_sessions(broken: Broken) -> float:
    counted = [fact for fact in broken.journal.of("gauge") if fact.text("name") == SESSIONS]
    return max((fact.number("value") for fact in counted), default=0.0)


def _strangers(broken: Broken) -> list[Call]:
    """Give the calls whose look-up began and ended while the table was locked."""
    return [
        call
        for call in broken.watch.calls.values()
        if broken.began_at + 0.5 <= call.sent_at <= broken.ended_at - LOOK_UP_S - SLACK_S
        and key_of(call) == STRANGER
        and call.code != "stale"
        and call.left is None
    ]


def _locked(broken: Broken) -> Iterator[Expected]:
    most = _most_sessions(broken)
    yield Expected("FP10", most == SESSIONS_MAX, f"the server counts {most:.0f} sessions at most")
    calls = _strangers(broken)
    right = [call for call in calls if (call.status, call.code) == (503, "auth_unavailable")]
    longest_s = max((call.over_at - call.sent_at for call in calls), default=0.0)
    words = f"{share(len(right), len(calls))} look-ups are told to come back, within {longest_s:.2f} s"
    yield Expected("FP10", len(right) == len(calls) > 0 and longest_s <= LOOK_UP_S + SLACK_S, words)
    known = ended(in_fault(broken))
    fine = good(known)
    words = f"{share(len(fine), len(known))} calls of known keys are answered"
    yield Expected("FP10", len(fine) == len(known) > 0, words)


REVOKED = ("leaver", "later-leaver")
"""Keys that are revoked, in this order."""

APART_S = 2.5
"""Half a round of verification: whoever is about to ask for the first key has just asked for the second."""

REFUSED_S = 10.0
"""A revoked key is refused within this on every replica (FP11)."""

AT_ONCE_S = 0.5
"""Who hears the news refuses the key well within this."""


@asynccontextmanager
async def _revoked_unheard(stand: Stand) -> AsyncIterator[None]:
    """Revoke keys while no replica hears of it: the way of the news takes what is sent and brings nothing."""
    stand.fault("feed_lost", on=True)
    for proxy in stand.ways.all_to(NEWS):
        await _hang(proxy)
    first, later = (stand.keys[name] for name in REVOKED)
    await revoke_key(stand.gateways[0], first, stand.journal)
    await asyncio.sleep(APART_S)
    await revoke_key(stand.gateways[0], later, stand.journal)
    try:
        yield
    finally:
        for proxy in stand.ways.all_to(NEWS):
            await proxy.heal()
        stand.fault("feed_lost", on=False)


async def _hang(proxy: Proxy) -> None:
    await proxy.hang()


def _of_revoked(broken: Broken, since_s: float) -> list[Call]:
    """Give the calls of revoked keys that were sent so long after their key's revocation, or later."""
    facts = broken.journal.of("key_revoked")
    revoked_at = {name: fact.at for name, fact in zip(REVOKED, facts, strict=False)}
    since = {name: at + since_s for name, at in revoked_at.items()}
    calls = [call for call in broken.watch.calls.values() if call.sent_at >= since.get(key_of(call), math.inf)]
    return ended(call for call in calls if call.code != "stale")


def _unheard(broken: Broken) -> list[Call]:
    """Give their calls that were answered because nobody had heard."""
    return good(_of_revoked(broken, AT_ONCE_S))


def _refused(broken: Broken) -> Iterator[Expected]:
    calls = _of_revoked(broken, REFUSED_S)
    right = [call for call in calls if call.status == 401]
    replicas = {call.gateway for call in right}
    words = (
        f"{share(len(right), len(calls))} calls are refused {REFUSED_S:.0f} s later, by {len(replicas)} replicas"
    )
    everywhere = replicas == {fact.host for fact in broken.journal.of("host_up")}
    yield Expected("FP11", len(right) == len(calls) > 0 and everywhere, words)


def _answered_late(broken: Broken) -> float:
    return float(len(good(_of_revoked(broken, REFUSED_S))))


KEY_EXPERIMENTS = (
    Experiment(
        "keys-locked",
        "somebody holds the table of keys, and every connection of a replica waits for it",
        ("FP10",),
        _keys_are_locked,
        lambda broken: len(_strangers(broken)),
        _locked,
        spans=Spans(fault_s=12.0, after_s=4.0),
        settings=ALONE,
        mix=Mix(strangers=0.5),
        figure=Figure("server-watches-us", "sessions of one replica at the server", _most_sessions, 50.0),
    ),
    Experiment(
        "key-revoked-unheard",
        "keys are revoked while the news of it are lost",
        ("FP11",),
        _revoked_unheard,
        lambda broken: len(_unheard(broken)),
        _refused,
        felt_min=3,
        spans=Spans(fault_s=14.0, after_s=2.0),
        settings=StandSettings(keys=(*StandSettings().keys, *map(KeyWish, REVOKED)), news_apart=True),
        figure=Figure(
            "round-replaces-keys", "calls answered later than 10 s after the revocation", _answered_late, 10.0
        ),
    ),
)
