"""FR4: while Redis is away or hangs, no answer is given that was kept, and none is kept."""

from collections.abc import Iterator

from sim.draft import CallDraft, Draft, Knobs, Level, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

KINDS = ("redis_away", "redis_hung", "redis_slow")

EDGE_S = 0.5
"""What is asked so near to the edge of an outage may be answered from before or after it."""

BACK_S = 3.0
"""A store that is back is in use within this (FR10)."""

AFTER_S = 30.0


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    replicas = chance.between(1, 2)
    starts_s, lasts_s = round(chance.uniform(8.0, 12.0), 3), round(chance.uniform(8.0, 20.0), 3)
    ends_s = starts_s + lasts_s
    old = [f"old-{number}" for number in range(chance.between(1, 3))]
    new = [f"new-{number}" for number in range(chance.between(1, 3))]
    calls = [
        *_asked(chance, replicas, old, (0.5, 3.0), 1),
        *_asked(chance, replicas, old, (4.0, starts_s), 2),
        *_asked(chance, replicas, [*old, *new], (starts_s + EDGE_S, ends_s - EDGE_S), 2),
        *_asked(chance, replicas, [*old, *new], (ends_s + BACK_S, ends_s + AFTER_S), 2),
    ]
    kind = chance.pick(KINDS)
    return Draft(
        level=chance.pick((Level.PORTS, Level.WIRE)),
        replicas=replicas,
        vendors=(VendorDraft("cloud-a", first_token_s=0.1, token_s=0.01),),
        cache_ttl_s=300,
        knobs=Knobs(),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=(Fault(kind, "", starts_s, lasts_s, 2.0 if kind == "redis_slow" else 0.0),),
        runs_s=ends_s + AFTER_S + 5.0,
    )


def _asked(
    chance: Chance, replicas: int, questions: list[str], span: tuple[float, float], times: int
) -> Iterator[CallDraft]:
    for question in questions:
        for _ in range(times * replicas):
            yield CallDraft(
                at_s=round(chance.uniform(*span), 3),
                gateway=chance.between(0, replicas - 1),
                question=question,
                streamed=len(question) % 2 == 0 or question.endswith("1"),
                tokens=8,
            )


def _seen(journal: Journal) -> Iterator[str]:
    watch = watch_of(journal)
    outages = watch.fault_spans(*KINDS)
    meant = [call for call in watch.calls.values() if call.question.startswith(("old-", "new-"))]
    if not outages or not all(call.outcome in {"whole", "done"} for call in meant):
        return
    span = outages[0]
    inside = [call for call in meant if span.start + EDGE_S / 2 <= call.sent_at and call.over_at < span.end]
    before = [call for call in meant if call.sent_at < span.start]
    after = [call for call in meant if call.sent_at > span.end + BACK_S]
    news = {call.question for call in inside if call.question.startswith("new-")}
    first_after = {call.question: call for call in sorted(after, key=lambda call: -call.sent_at)}
    if (
        inside
        and news
        and all(_cache(watch, call) == "miss" for call in inside)
        and any(_cache(watch, call) == "hit" for call in before)
        and any(_cache(watch, call) == "hit" for call in after)
        and all(_cache(watch, first_after[question]) == "miss" for question in news if question in first_after)
    ):
        yield "FR4"


def _cache(watch: Watch, call: Call) -> str:
    records = watch.records.get(call.request_id, ())
    return str(records[0].members.get("cache") or "") if records else ""


CACHED_SCENARIOS = (
    Scenario("fr4-cache-away", "without Redis no answer is kept or given again", ("FR4",), _draft, _seen),
)
