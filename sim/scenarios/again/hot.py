"""S32: what everybody asks ends under load: each replica fetches it once, and a hung one holds nobody for ever.

Many clients ask one question all the time; what was kept ends again and again. In the middle of it the vendor goes
silent for a while, so that a fetch hangs.
"""

from collections.abc import Iterator

from sim.draft import CallDraft, Draft, Knobs, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Exchange
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.journal.watch import Watch, watch_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

TTL_S = 4
PER_S = 12
BUSY_S = 40.0
HOT = "hot"

HANGS_S = 15.0
"""A fetch that takes longer hangs: one of those who wait for it fetches in its place."""

FETCH_S = 3.0
"""A fetch of a sound vendor takes less."""


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    streamed = chance.happens(0.5)
    calls = tuple(
        CallDraft(
            at_s=round(1.0 + number / PER_S + chance.uniform(0.0, 0.5 / PER_S), 3),
            gateway=chance.between(0, replicas - 1),
            question=HOT,
            streamed=streamed,
            tokens=10,
        )
        for number in range(int(BUSY_S * PER_S))
    )
    silent = Fault("silent", "cloud-a", round(chance.uniform(15.0, 20.0), 3), round(chance.uniform(5.0, 8.0), 3))
    return Draft(
        level=Level.PORTS,
        replicas=replicas,
        vendors=(VendorDraft("cloud-a", first_token_s=0.5, token_s=0.02),),
        cache_ttl_s=TTL_S,
        knobs=Knobs(first_token_s=50.0),
        calls=calls,
        faults=(silent,),
        runs_s=BUSY_S + 5.0,
    )


def _active(journal: Journal) -> Iterator[str]:
    watch = watch_of(journal)
    spans = watch.fault_spans("silent")
    if spans and _during(watch, spans[0]):
        yield "S32"


def _during(watch: Watch, span: Span) -> list[Exchange]:
    """Give the fetches that hung."""
    return [one for one in _fetches(watch) if span.start <= one.asked.at < span.end]


def _fetches(watch: Watch) -> list[Exchange]:
    return [one for one in watch.exchanges if watch.call(one.call).question == HOT and not one.repeated]


def _seen(journal: Journal) -> Iterator[str]:
    watch = watch_of(journal)
    spans = watch.fault_spans("silent")
    calls = [call for call in watch.calls.values() if call.question == HOT]
    answered = [call for call in calls if call.outcome in {"whole", "done"}]
    if not spans or not calls or any(not _hung(watch, call.name) for call in calls if call not in answered):
        return
    span, fetches = spans[0], _fetches(watch)
    sound = [one for one in fetches if not span.start <= one.asked.at < span.end]
    hits = [
        call
        for call in calls
        if any(record.members.get("cache") == "hit" for record in watch.records.get(call.request_id, ()))
    ]
    if (
        sound
        and _one_at_a_time(sound)
        and len(hits) > len(calls) / 2
        and all(call.over_at - call.sent_at < HANGS_S + FETCH_S for call in calls if not _hung(watch, call.name))
    ):
        yield "S32"


def _one_at_a_time(fetches: list[Exchange]) -> bool:
    """Tell whether no replica began to fetch while it was fetching."""
    over_at: dict[str, float] = {}
    for one in fetches:
        if one.asked.at < over_at.get(one.gateway, 0.0):
            return False
        over_at[one.gateway] = one.told_at
    return True


def _hung(watch: Watch, name: str) -> bool:
    return any(exchange.how != "whole" for exchange in watch.asked_for.get(name, ()))


HOT_SCENARIOS = (
    Scenario("s32-hot-question", "what everybody asks ends under load", ("S32",), _draft, _seen, _active),
)
