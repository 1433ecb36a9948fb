"""FP8: Postgres is back; keys verify at once, the newer snapshot comes into force, nobody stampedes.

One look-up per key and replica, however many calls wait for it, and replicas that do not ask in step.
"""

from collections.abc import Iterator
from itertools import combinations

from sim.draft import CallDraft, Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.scenarios.books.outage import KNOWN, LATE, at, call_of, draw_outage, scattered, warm_up, world_of
from sim.scenarios.books.reading import BLINK_S, EDGE_S, LOOKUP_S, REVERIFY_MAX_S, Books, answered, key_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

VERIFIES_S = 2.0
"""Keys verify within this."""

SNAPSHOT_S = 6.5
"""The newest snapshot is in force within this: a poll every 5 s, a fifth more at most."""

WATCHED_S = 18.0
"""How long after an outage replicas are watched for asking in step; worlds run a little longer."""

IN_STEP_S = 0.05
"""Two replicas that ask this close to each other, time after time, are in step."""

CROWD_MIN = 5
"""So many calls for one key at once make a stampede where each asks for itself."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(2, 3)
    window_s = chance.pick((20.0, 300.0))
    outage = draw_outage(chance, 12.0, 40.0)
    calls = [
        *warm_up(chance, replicas, outage.starts_s - EDGE_S),
        *scattered(chance, replicas, KNOWN, (outage.starts_s, outage.ends_s), chance.between(0, 2)),
        *scattered(chance, replicas, KNOWN, (outage.ends_s + VERIFIES_S, outage.ends_s + WATCHED_S), 2),
    ]
    for gateway in range(replicas):
        for key in LATE:
            calls += _crowd(chance, outage.ends_s, key, gateway)
    newer = Fault("new_catalogue", "", at(chance, outage.starts_s + EDGE_S, outage.ends_s - EDGE_S))
    return world_of(chance, replicas, outage, calls, Knobs(key_window_s=window_s, poll_s=0.9), (newer,))


def _crowd(chance: Chance, back_s: float, key: str, gateway: int) -> Iterator[CallDraft]:
    """Let a key that nobody knows yet be used many times, all but at once, as soon as it can be verified."""
    first_s = at(chance, back_s + 0.001, back_s + VERIFIES_S - 2 * BLINK_S)
    for _ in range(chance.between(2 * CROWD_MIN, 20)):
        spread_s = chance.pick((0.0, 0.0, 0.001, 0.05))
        yield call_of(chance, round(first_s + chance.uniform(0.0, spread_s), 6), key, gateway)


def _active(journal: Journal) -> Iterator[str]:
    if any(end < books.watch.ends_at for books in (Books(journal),) for end in _ends(books)):
        yield "FP8"


def _ends(books: Books) -> list[float]:
    return [outage.end for outage in books.outages]


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    ends = _ends(books)
    if ends and all(
        _not_in_step(books, back_at)
        and all(
            _verifies(books, back_at, host)
            and _refreshes(books, back_at, host)
            and _gets_ready(books, back_at, host)
            for host in books.hosts
        )
        for back_at in ends
    ):
        yield "FP8"


def _verifies(books: Books, back_at: float, host: str) -> bool:
    """Tell whether keys nobody knew were verified in time at one replica, each by one look-up, and all worked."""
    calls = [call for call in books.sent(back_at, back_at + WATCHED_S) if call.gateway == host]
    crowds = [crowd for crowd in _by_new_key(books, back_at, calls) if len(crowd) >= CROWD_MIN]
    return (
        bool(crowds)
        and all(_one_lookup(books, back_at, crowd) for crowd in crowds)
        and all(answered(call) for call in calls)
    )


def _by_new_key(books: Books, back_at: float, calls: list[Call]) -> list[list[Call]]:
    """Give the calls of each real key that the replica had never verified before it could."""
    found: dict[str, list[Call]] = {}
    for call in calls:
        key = key_of(call)
        if key in books.key_ids and books.verified_at(call.gateway, key, back_at) < 0:
            found.setdefault(key, []).append(call)
    return [*found.values()]


def _one_lookup(books: Books, back_at: float, crowd: list[Call]) -> bool:
    name, host = books.key_ids[key_of(crowd[0])], crowd[0].gateway
    lookups = [
        asking
        for asking in books.askings
        if asking.host == host and asking.ids == (name,) and back_at <= asking.at < back_at + VERIFIES_S
    ]
    return len(lookups) == 1 and lookups[0].answer == "found"


def _refreshes(books: Books, back_at: float, host: str) -> bool:
    """Tell whether the version that was stored meanwhile came into force in time, and its age is young again."""
    stored = [fact.members["version"] for fact in books.journal.of("catalogue_applied") if fact.at < back_at]
    until = back_at + SNAPSHOT_S
    versions = books.gauges("snapshot_version", host, back_at, until)
    ages = books.gauges("snapshot_age_s", host, back_at, until)
    return (
        bool(stored)
        and bool(versions)
        and versions[-1].members["value"] == stored[-1]
        and bool(ages)
        and ages[-1].number("value") < BLINK_S
    )


def _gets_ready(books: Books, back_at: float, host: str) -> bool:
    """Tell whether one replica was ready in time, and stayed so."""
    probes = books.told(host, back_at + REVERIFY_MAX_S, back_at + WATCHED_S)
    return bool(probes) and all(
        fact.members["status"] == 200 and fact.members.get("state") == "ok" for fact in probes
    )


def _not_in_step(books: Books, back_at: float) -> bool:
    """Tell whether the batches of no two replicas came together time after time."""
    batches = {
        host: [
            asking.at
            for asking in books.askings
            if asking.host == host
            and len(asking.ids) != 1
            and back_at + LOOKUP_S <= asking.at < back_at + WATCHED_S
        ]
        for host in books.hosts
    }
    return len(batches) > 1 and all(
        _apart(batches[one], batches[other]) for one, other in combinations(books.hosts, 2)
    )


def _apart(one: list[float], other: list[float]) -> bool:
    together = sum(any(abs(mine - theirs) < IN_STEP_S for theirs in other) for mine in one)
    return bool(one) and bool(other) and 2 * together <= len(one)


BACK_SCENARIOS = (
    Scenario(
        "fp8-back", "Postgres is back: keys, snapshot, readiness, no stampede", ("FP8",), _draft, _seen, _active
    ),
)
