"""What a journal tells of the store of leases: its outages, who held what, what it counted, how calls fared.

Rules: only facts count, never what a draft intended; what lies so close to an edge that both answers are right is
left out. Not here: which behaviour is the documented one (the scenarios).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sim.journal.calls import Attempt
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.journal.watch import watch_of
from sim.scenarios.fleet.leases.worlds import TTL_S
from sim.scenarios.showing import ANSWERED, Story, stories

TIMEOUT_S = 0.1
"""What one request pays when Redis hangs."""

BLINK_S = 0.06
"""What a gateway may take for steps that wait for nobody, links and noise included."""

EDGE_S = 0.5
"""Nearer than this to the end of an outage, nothing is claimed."""

HEARD_S = 1.0
"""Within this the store has heard of a release, and a gateway's fact of a grant says the same as its count."""

UNKNOWN = Attempt("local", "unknown")
"""Our machines were passed over because nobody knows how busy they are."""


@dataclass(slots=True)
class Lease:
    """One lease as its gateway told of it: `renewed` are moments and how each renewal found it.

    `orphaned_at`: its gateway was killed, and it lives on in the store until its time is over.
    """

    id: str
    host: str
    node: str
    taken_at: float
    renewed: list[tuple[float, str]]
    released_at: float = math.inf
    orphaned_at: float = math.inf

    @property
    def counts_until(self) -> float:
        """Until when the store may count it."""
        return min(self.released_at, self.orphaned_at + TTL_S)

    def held(self, since: float, until: float) -> bool:
        """Whether it was held at some moment of this time."""
        return self.taken_at <= until and self.counts_until >= since

    def held_throughout(self, since: float, until: float) -> bool:
        """Whether it was held all this time."""
        return self.taken_at <= since and min(self.released_at, self.orphaned_at) >= until

    def last_until(self, at: float) -> float:
        """Give when it was last renewed, or taken, before this moment."""
        return max((when for when, _ in self.renewed if when < at), default=self.taken_at)


class Slots:
    """A journal, as far as leases go."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.watch = watch_of(journal)
        self.stories = stories(journal)
        self.hosts = tuple(dict.fromkeys(fact.host for fact in journal.of("host_up")))
        self.slots = {
            fact.text("name").partition(":")[2]: int(fact.number("value"))
            for fact in journal.of("setting")
            if fact.text("name").startswith("slots:")
        }
        self.leases = _leases(journal)

    def spans(self, *kinds: str) -> list[Span]:
        """Give when faults of these kinds were on, while calls still came."""
        heal_at = self.watch.phases.get("heal", math.inf)
        found = [span for span in self.watch.fault_spans(*kinds) if span.end <= heal_at]
        return sorted(found, key=lambda span: span.start)

    def sent(self, since: float, until: float, *placements: str | None) -> list[Story]:
        """Give the calls sent in this time with one of these placements; none named: all."""
        return [
            story
            for story in self.stories
            if since <= story.call.sent_at < until and (not placements or placement_of(story) in placements)
        ]

    def is_node(self, name: str) -> bool:
        """Whether this is a machine of ours."""
        return name in self.slots

    def by_node(self, story: Story) -> bool:
        """Whether a machine of ours answered."""
        return self.is_node(story.answered_by)

    def by_cloud(self, story: Story) -> bool:
        """Whether a vendor answered, and no machine of ours was asked."""
        answered_by = story.answered_by
        return bool(answered_by) and not any(self.is_node(one.target) for one in story.asked)

    def first_unknown_at(self, host: str, since: float, *failures: str) -> float:
        """Give when a gateway first learned, after `since`, that the store tells nothing; infinite: never."""
        return min(
            (
                fact.at
                for fact in self.journal.of("leases_unknown")
                if fact.host == host and fact.at >= since and (not failures or fact.text("failure") in failures)
            ),
            default=math.inf,
        )

    def told(self, host: str, since: float, until: float) -> list[Fact]:
        """Give what `/readyz` said in this time."""
        return [fact for fact in self.journal.of("readyz") if fact.host == host and since <= fact.at < until]

    def on(self, node: str) -> list[Lease]:
        """Give the leases on a node."""
        return [lease for lease in self.leases if lease.node == node]

    def counts(self, since: float, until: float = math.inf) -> Iterator[tuple[Fact, int, int]]:
        """Give what the store counted in this time, with the fewest and the most that can be right."""
        for fact in self.journal.of("slots_seen"):
            if since <= fact.at < until:
                leases = self.on(fact.text("node"))
                low = sum(lease.held_throughout(fact.at - HEARD_S, fact.at) for lease in leases)
                high = sum(lease.held(fact.at - HEARD_S, fact.at + TIMEOUT_S) for lease in leases)
                yield fact, low, high

    def counts_are_right(self, since: float, until: float = math.inf) -> bool:
        """Whether the store counted, in all of this time, what was held."""
        counts = [(fact.number("busy"), low, high) for fact, low, high in self.counts(since, until)]
        return bool(counts) and all(low <= busy <= high for busy, low, high in counts)

    def renewals(self, *how: str) -> list[tuple[Lease, float]]:
        """Give the renewals that found their lease like this, in order."""
        found = [(lease, at) for lease in self.leases for at, word in lease.renewed if word in how]
        return sorted(found, key=lambda pair: pair[1])

    def story_of(self, lease: Lease) -> Story | None:
        """Give the call that a lease was taken for: the one its node was asked by right after."""
        after = [
            (one.asked.at, story)
            for story in self.stories
            for one in story.asked
            if (one.gateway, one.target) == (lease.host, lease.node) and one.asked.at >= lease.taken_at
        ]
        return min(after, key=lambda pair: pair[0], default=(0.0, None))[1]


def placement_of(story: Story) -> str | None:
    """Give the placement that a call asked for."""
    value = story.call.sents[0].members.get("placement")
    return None if value is None else str(value)


def waited_s(story: Story) -> float:
    """Give how long a call waited until a target saw it, or else until its end."""
    first_at = story.asked[0].asked.at if story.asked else story.call.over_at
    return first_at - story.call.sent_at


def answered(story: Story) -> bool:
    """Whether its client got all of an answer."""
    return story.call.outcome in ANSWERED and story.call.status == 200


def skipped_to_cloud(slots: Slots, story: Story) -> bool:
    """Whether our machines were passed over, or came after the cloud anyway, and a vendor answered (FR5)."""
    passed_over = UNKNOWN in story.attempts
    return passed_over is (placement_of(story) is None) and slots.by_cloud(story)


def refused_unknown(story: Story) -> bool:
    """Whether its client was told that the state of the nodes is unknown, and nobody was asked (FR6)."""
    call = story.call
    told = str(call.ends[0].members.get("retry_after") or "")
    return (
        (call.status, call.code, call.outcome) == (503, "node_state_unknown", "error")
        and story.attempts == (UNKNOWN,)
        and not story.asked
        and not story.dials
        and told.isdigit()
        and int(told) >= 1
    )


def does_without(slots: Slots, story: Story) -> bool:
    """Whether a call fared as it must while the store tells nothing."""
    if placement_of(story) == "nodes_only":
        return refused_unknown(story)
    return skipped_to_cloud(slots, story)


def _leases(journal: Journal) -> list[Lease]:
    found: dict[str, Lease] = {}
    for fact in journal.of("lease_taken", "lease_renewed", "lease_released", "host_crashed"):
        name = str(fact.members.get("lease", ""))
        match fact.kind:
            case "host_crashed":
                for lease in found.values():
                    if lease.host == fact.host:
                        lease.orphaned_at = min(lease.orphaned_at, fact.at)
            case "lease_taken":
                found[name] = Lease(name, fact.host, fact.text("node"), fact.at, [])
            case "lease_renewed":
                found[name].renewed.append((fact.at, fact.text("how")))
            case _:
                found[name].released_at = fact.at
    return list(found.values())
