"""FR12 and S06: Redis answers, and answers with errors of its own; each is taken for what it means.

A replica, and a server without memory, are away: nodes are passed over until it passes by itself. A cluster says
where our keys lie: we follow within a call or two. Scripts that were lost are loaded again, and no call notices.
Whichever it was, no client ever reads it.
"""

from collections.abc import Callable, Iterator

from sim.draft import CallDraft, Draft
from sim.faults.plan import Fault
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.fleet.leases.reading import EDGE_S, Slots, answered, does_without
from sim.scenarios.fleet.leases.worlds import BACK_S, When, calls_in, drawn, machines, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

READ_ONLY, FULL, MOVED, FORGETS = "redis_readonly", "redis_full", "redis_moved", "redis_forgets_scripts"

FOLLOWED_S = 0.6
"""A redirection costs the round trip that met it; whatever is not yet connected there meets it once more."""

RENEWED_S = 6.0
"""A renewal period, and the time of the renewal itself."""

PAUSE_S = BACK_S + 6.0
"""Between two faults: long enough to be back, and to see it."""


def _refusing(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return _world(chance, [chance.pick((READ_ONLY, MOVED))])


def _each(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return _world(chance, chance.some((READ_ONLY, FULL, MOVED, FORGETS), 4))


def _world(chance: Chance, kinds: list[str]) -> Draft:
    replicas = chance.between(1, 3)
    at_s, faults, calls = drawn(chance, 6.0, 8.0), [], [*calls_in(chance, replicas, When(0.5, 5.0), 3)]
    for kind in kinds:
        lasts_s = 0.0 if kind == FORGETS else drawn(chance, 8.0, 14.0)
        faults.append(Fault(kind, "", at_s, lasts_s))
        calls += _calls(chance, replicas, at_s, at_s + lasts_s)
        at_s = round(at_s + lasts_s + PAUSE_S, 3)
    nodes = machines(chance, chance.between(2, 3), slots=8)
    return world_of(chance, replicas, nodes, calls, faults, runs_s=at_s + 6.0)


def _calls(chance: Chance, replicas: int, starts_s: float, ends_s: float) -> Iterator[CallDraft]:
    """Draw calls in a fault, and when it is over."""
    during, after = When(starts_s, ends_s), When(ends_s + BACK_S, ends_s + BACK_S + 5.0)
    if ends_s > starts_s:
        yield from calls_in(chance, replicas, during, chance.between(4, 7))
        yield from calls_in(chance, replicas, during, chance.between(2, 3), "nodes_only")
    yield from calls_in(chance, replicas, after, 3)
    yield from calls_in(chance, replicas, after, 2, "nodes_only")


def _seen_refusing(journal: Journal) -> Iterator[str]:
    if _shows(Slots(journal), READ_ONLY, MOVED):
        yield "FR12"


def _seen_each(journal: Journal) -> Iterator[str]:
    slots = Slots(journal)
    if all(_shows(slots, kind) for kind in (READ_ONLY, FULL, MOVED, FORGETS)):
        yield "S06"


def _active_each(journal: Journal) -> Iterator[str]:
    struck = {fact.text("fault") for fact in journal.of("fault") if fact.has("on")}
    if {READ_ONLY, FULL, MOVED, FORGETS} <= struck:
        yield "S06"


def _shows(slots: Slots, *kinds: str) -> bool:
    """Tell whether there were such faults, and calls fared in each as they must, and well after it."""
    found = [(kind, span) for kind in kinds for span in _spans(slots, kind)]
    return bool(found) and all(_FARES[kind](slots, span) and _is_back(slots, span) for kind, span in found)


def _spans(slots: Slots, kind: str) -> list[Span]:
    if kind != FORGETS:
        return slots.spans(kind)
    at = [fact.at for fact in slots.journal.of("fault") if fact.text("fault") == kind and fact.has("on")]
    return [Span(one, one) for one in at]


def _does_without(slots: Slots, span: Span) -> bool:
    """Tell whether all calls fared as without Redis."""
    calls = slots.sent(span.start, span.end - EDGE_S)
    return bool(calls) and all(does_without(slots, story) for story in calls)


def _follows(slots: Slots, span: Span) -> bool:
    """Tell whether every gateway follows where it is pointed, and only who met the redirection did without."""
    for host in slots.hosts:
        calls = [story for story in slots.sent(span.start, span.end) if story.call.gateway == host]
        missed = [story for story in calls if not slots.by_node(story)]
        if not calls or not all(does_without(slots, story) for story in missed):
            return False
        met_at = min((story.call.sent_at for story in missed), default=span.start)
        if any(story.call.sent_at > met_at + FOLLOWED_S for story in missed):
            return False
    return any(slots.by_node(story) for story in slots.sent(span.start, span.end))


def _loads_again(slots: Slots, span: Span) -> bool:
    """Tell whether nobody noticed that the scripts were gone."""
    unknown = [fact for fact in slots.journal.of("leases_unknown") if span.start <= fact.at <= span.end + BACK_S]
    return not unknown


def _is_back(slots: Slots, span: Span) -> bool:
    """Tell whether nodes answer 3 s after it is over, at every gateway, and the counts of the store are right."""
    since = span.end + BACK_S
    calls = slots.sent(since, since + 5.0)
    return (
        {story.call.gateway for story in calls} == {*slots.hosts}
        and all(answered(story) and slots.by_node(story) for story in calls)
        and all(low <= fact.number("busy") <= high for fact, low, high in _counts(slots, span))
    )


def _counts(slots: Slots, span: Span) -> Iterator[tuple[Fact, int, int]]:
    return slots.counts(span.end + RENEWED_S, span.end + PAUSE_S)


_FARES: dict[str, Callable[[Slots, Span], bool]] = {
    READ_ONLY: _does_without,
    FULL: _does_without,
    MOVED: _follows,
    FORGETS: _loads_again,
}

REFUSING_SCENARIOS = (
    Scenario("fr12-refusing", "Redis is a replica now, or elsewhere", ("FR12",), _refusing, _seen_refusing),
    Scenario("s06-own-errors", "each error of Redis' own in turn", ("S06",), _each, _seen_each, _active_each),
)
