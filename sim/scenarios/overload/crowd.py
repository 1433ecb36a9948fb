"""FG6: more calls than a gateway may hold at once; those beyond are refused early, and it stays alive and ready.

Refused means at once, by 503 `overloaded` with a time to come back, before anything was asked or reserved; those
that were taken are answered, and so is everybody once the crowd is gone.
"""

from collections.abc import Iterator

from sim.draft import CallDraft, Draft, Knobs, NodeDraft, VendorDraft
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.scenarios.books.reading import BLINK_S, Books, answered, refused_with
from sim.scenarios.limits.worlds import draw_level
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

CODE = "overloaded"

CROWD_S = 1.0
"""Within so long the crowd comes; answers take longer."""

BEYOND_MIN = 10
"""So many more than it holds."""

PROBES_MIN = 3
"""Fewer would be luck."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas, holds = chance.between(1, 2), chance.between(10, 60)
    starts_s = round(chance.uniform(3.0, 5.0), 3)
    crowd = [_call(chance, starts_s, replicas) for _ in range((2 * holds + BEYOND_MIN) * replicas)]
    after = [_call(chance, starts_s + 30.0, replicas) for _ in range(chance.between(5, 9))]
    before = [_call(chance, 0.2, replicas) for _ in range(chance.between(2, 5))]
    vendors = [VendorDraft(f"cloud-{letter}", first_token_s=2.0) for letter in "ab"[: chance.between(1, 2)]]
    node = NodeDraft("node-1", slots=4, window=None, first_token_s=2.0)
    return Draft(
        level=draw_level(chance),
        replicas=replicas,
        vendors=tuple(vendors),
        nodes=(node,) if chance.happens(0.5) else (),
        knobs=Knobs(inflight_max=holds, poll_s=0.1),
        calls=tuple(sorted((*before, *crowd, *after), key=lambda call: call.at_s)),
        runs_s=starts_s + 45.0,
    )


def _call(chance: Chance, at_s: float, replicas: int) -> CallDraft:
    return CallDraft(
        at_s=round(at_s + chance.uniform(0.0, CROWD_S), 4),
        gateway=chance.between(0, replicas - 1),
        streamed=chance.happens(0.7),
        tokens=chance.between(1, 20),
    )


def _refused(books: Books) -> list[Call]:
    return [call for call in books.watch.calls.values() if call.code == CODE]


def _active(journal: Journal) -> Iterator[str]:
    """Give the id where calls came while their gateway held as many as it may, often enough."""
    books = Books(journal)
    holds = books.watch.number("inflight_max", 0.0)
    calls = [*books.sent(0.0, books.watch.phases.get("heal", 0.0))]
    beyond = sum(_under_way(calls, call) >= holds for call in calls)
    if holds and beyond >= BEYOND_MIN:
        yield "FG6"


def _under_way(calls: list[Call], call: Call) -> int:
    """Count the other calls that its gateway had when it came."""
    return sum(
        one is not call and one.gateway == call.gateway and one.sent_at <= call.sent_at < one.over_at
        for one in calls
    )


def _seen(journal: Journal) -> Iterator[str]:
    books = Books(journal)
    refused = _refused(books)
    if not refused:
        return
    first_at, last_at = refused[0].sent_at, refused[-1].over_at
    others = [call for call in books.sent(0.0, books.watch.phases["heal"]) if call.code != CODE]
    if (
        all(_early(books, call) for call in refused)
        and all(answered(call) for call in others)
        and any(call.sent_at > last_at + 10.0 for call in others)
        and all(_alive(books, host, first_at, last_at) for host in books.hosts)
        and _counts(journal) == len(refused)
    ):
        yield "FG6"


def _early(books: Books, call: Call) -> bool:
    """Tell whether it was refused at once, with nothing done for it."""
    return (
        refused_with(call, CODE, retry=True)
        and call.over_at - call.sent_at < BLINK_S
        and not books.watch.asked(call)
        and not books.watch.usages.get(call.request_id)
    )


def _alive(books: Books, host: str, since: float, until: float) -> bool:
    """Tell whether probes were answered all the while."""
    told = books.told(host, since, until)
    return len(told) >= PROBES_MIN and all(fact.has("ready") for fact in told)


def _counts(journal: Journal) -> float:
    """Give how many the metric says were refused for this reason."""
    return sum(
        fact.number("amount")
        for fact in journal.of("counted")
        if (fact.members["name"], fact.members.get("label")) == ("calls_shed", "calls")
    )


CROWD_SCENARIOS = (Scenario("fg6-overload", "more calls than it can hold", ("FG6",), _draft, _seen, _active),)
