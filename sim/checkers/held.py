"""What became of each lease, and whether it must or may still be held at a moment; what I4 judges by.

Rules: a lease lives from being taken to being given back, and for `lease_ttl_s` after it was last renewed. One of
a gateway that runs well is renewed in time, so it must be held for as long as the gateway holds it; one of a
gateway that was frozen, or that could not reach the store, may have ended by its time; so may all that a store has
forgotten. Facts of grants come a moment after the store's own, those of releases a moment before.
"""

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import any_overlaps
from sim.journal.watch import Watch

HEARD_S = 1.0
"""Within this the store has heard of a release, and whoever asked has heard of a grant."""

SLACK_S = 0.5
"""A renewal took effect up to this long before it was noted."""

UNCLEAR_S = 40.0
"""After a fault of the store: what waited for it has been told, lived its time and drained by then."""

STORE_FAULTS = (
    *("redis_away", "redis_hung", "redis_slow", "redis_cut", "redis_failover"),
    *("redis_full", "redis_readonly", "redis_moved", "redis_unfit"),
)
"""While one of these is on, what a replica asks may have no effect, or one that does not last."""


@dataclass(slots=True)
class Held:
    """One lease.

    `taken_up_at`: renewals that found it gone; `freed_at`: its node was seen idle, and it may have drained
    by then; `surely_freed_at`: it had; `orphaned_at`: its process ended; `over_at`: it surely counts no more after
    this, no fault of the store being near.
    """

    taken: Fact
    lease: str
    gateway: str
    node: str
    renewed_at: list[float] = field(default_factory=list)
    taken_up_at: list[float] = field(default_factory=list)
    released_at: float = math.inf
    drain_s: float = 0.0
    freed_at: float = math.inf
    surely_freed_at: float = math.inf
    orphaned_at: float = math.inf
    over_at: float = math.inf

    @property
    def taken_at(self) -> float:
        """When its gateway was told of it."""
        return self.taken.at

    def last_renewed_at(self, at: float) -> float:
        """When it was last renewed, or taken, by this moment."""
        return self.renewed_at[bisect_right(self.renewed_at, at) - 1]


class Leases:
    """All leases of a run, by node; where gateways do not share a store, by gateway and node."""

    def __init__(self, watch: Watch, journal: Journal) -> None:
        self._watch = watch
        self.shared = watch.text("leases_shared") in ("True", "true", "1")
        self.ttl_s = watch.number("lease_ttl_s", math.inf)
        self._faults = [span for kind in STORE_FAULTS for span in watch.fault_spans(kind)]
        self._forgot = [at for at, on in watch.faults.get("redis_empty", ()) if on]
        self._forgot += [at for at, on in watch.faults.get("redis_failover", ()) if not on]
        self._crashes = [at for _, host in watch.hosts() for at in host.crashes]
        self._strays: dict[str, list[float]] = defaultdict(list)
        self._on: dict[str, list[Held]] = defaultdict(list)
        self._near: dict[str, list[Held]] = defaultdict(list)
        self._next: Counter[str] = Counter()
        spans = (span for _, host in watch.hosts() for span in host.frozen)
        self._ahead_s = HEARD_S + max((span.end - span.start for span in spans), default=0.0)
        self._read(journal)
        for held in (held for place in self._on.values() for held in place):
            held.over_at = self._over_at(held)

    def place(self, gateway: str, node: str) -> str:
        """Name what has the slots: a node, or one gateway's view of it."""
        return node if self.shared else f"{gateway} {node}"

    def near(self, place: str, at: float) -> list[Held]:
        """Give the leases that may count at this moment, in the order in which they were taken; ask in order."""
        near, leases = self._near[place], self._on[place]
        while self._next[place] < len(leases) and leases[self._next[place]].taken_at <= at + self._ahead_s:
            near.append(leases[self._next[place]])
            self._next[place] += 1
        near[:] = [held for held in near if held.over_at >= at]
        return near

    def must_be_held(self, held: Held, at: float) -> bool:
        """Whether it surely counts at this moment."""
        if held.taken_at > at or held.freed_at <= at:
            return False
        if held.released_at <= at:
            return at < held.released_at + held.drain_s and self._drains(held, at)
        if held.orphaned_at <= at and not self.shared:
            return False
        since = held.last_renewed_at(at)
        if held.orphaned_at > at and self._is_well(held.gateway, since, at):
            return True
        return at < since + self.ttl_s - SLACK_S and not self._forgotten(since, at)

    def _drains(self, held: Held, at: float) -> bool:
        """Whether the store knew it when it was given back: nothing drains in the place of what it has lost."""
        given_back_at = held.released_at
        since = held.last_renewed_at(given_back_at)
        if self._forgotten(since, given_back_at) or self.troubled(given_back_at, at):
            return False
        return given_back_at < since + self.ttl_s - SLACK_S or self._is_well(held.gateway, since, given_back_at)

    def _forgotten(self, since: float, until: float) -> bool:
        return any(since - SLACK_S <= lost_at <= until for lost_at in self._forgot)

    def may_be_held(self, held: Held, at: float) -> bool:
        """Whether it may still count at this moment, no fault of the store being near."""
        if held.taken_at > self._watch.host(held.gateway).thawed_at(at) + HEARD_S:
            return False
        return at <= held.over_at

    def _over_at(self, held: Held) -> float:
        ended_at = min(held.released_at, held.orphaned_at)
        if ended_at == math.inf:
            return math.inf
        if held.orphaned_at <= held.released_at:
            return ended_at + self.ttl_s + HEARD_S if self.shared else ended_at
        host = self._watch.host(held.gateway)
        heard_at = host.thawed_at(ended_at) + HEARD_S
        if host.crashed(ended_at, heard_at):
            heard_at += self.ttl_s
        return min(heard_at + held.drain_s, held.surely_freed_at + HEARD_S)

    def strays(self, node: str, at: float) -> int:
        """Count the leases that may be held without anybody knowing: grants that were not heard of."""
        lives_s = self.ttl_s + HEARD_S
        killed = sum(crash_at <= at <= crash_at + lives_s for crash_at in self._crashes)
        return killed + sum(since <= at <= since + lives_s for since in self._strays.get(node, ()))

    def troubled(self, since: float, until: float) -> bool:
        """Whether the store could not be asked as usual, or forgot everything, in this time or just before it."""
        forgot = any(since - HEARD_S <= at <= until for at in self._forgot)
        return forgot or any_overlaps(self._faults, since - HEARD_S, until)

    def unclear(self, at: float) -> bool:
        """Whether something that was asked of a store in trouble may still have its effect."""
        return self.troubled(at - UNCLEAR_S, at)

    def _is_well(self, gateway: str, since: float, until: float) -> bool:
        if not self.shared:
            return True
        host = self._watch.host(gateway)
        if host.down(since, until) or host.crashed(since, until) or host.stood_still_s(since - HEARD_S, until) > 0:
            return False
        # What was forgotten is taken up again before anything else is granted.
        return not any_overlaps(self._faults, since - HEARD_S, until)

    def _read(self, journal: Journal) -> None:
        open_leases: dict[str, Held] = {}
        for fact in journal.of(
            "lease_taken",
            "lease_renewed",
            "lease_released",
            "leases_drained",
            "leases_unknown",
            "host_crashed",
            "host_stopped",
        ):
            match fact.kind:
                case "lease_taken":
                    self._read_taken(fact, open_leases)
                case "leases_drained":
                    self._read_drained(fact)
                case "leases_unknown":
                    for node in str(fact.members.get("nodes") or "").split():
                        self._strays[node].append(fact.at)
                case "lease_renewed" | "lease_released":
                    _read_one(fact, open_leases)
                case _:
                    self._read_end(fact, open_leases)

    def _read_taken(self, fact: Fact, open_leases: dict[str, Held]) -> None:
        lease, node = fact.text("lease"), fact.text("node")
        held = Held(fact, lease, fact.host, node, [fact.at])
        open_leases[lease] = held
        self._on[self.place(fact.host, node)].append(held)

    def _read_end(self, fact: Fact, open_leases: dict[str, Held]) -> None:
        if fact.kind == "host_stopped" and self._watch.host(fact.host).doubled(fact.at):
            return
        for held in open_leases.values():
            if held.gateway == fact.host:
                held.orphaned_at = min(held.orphaned_at, fact.at)

    def _read_drained(self, fact: Fact) -> None:
        looked_from = fact.at - fact.number("ago_s")
        for node in fact.text("nodes").split():
            for held in self._on.get(self.place(fact.host, node), ()):
                if held.released_at <= looked_from:
                    held.freed_at = min(held.freed_at, fact.at)
                if held.released_at <= looked_from - HEARD_S:
                    held.surely_freed_at = min(held.surely_freed_at, fact.at)


def _read_one(fact: Fact, open_leases: dict[str, Held]) -> None:
    held = open_leases.get(fact.text("lease"))
    if held is None or held.released_at < math.inf:
        return
    if fact.kind == "lease_renewed":
        held.renewed_at.append(fact.at)
        if fact.members["how"] != "kept":
            held.taken_up_at.append(fact.at)
    else:
        held.released_at = fact.at
        held.drain_s = fact.number("drain_s")


def around(moments: list[float], at: float, within_s: float) -> bool:
    """Whether one of these moments lies just before this one."""
    return any(at - within_s <= moment <= at for moment in moments)
