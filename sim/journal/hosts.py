"""What became of the gateways' machines: when each was up, leaving, dead, frozen.

Rules: a host may have two processes at once, one that leaves and its successor; where facts cannot tell them
apart, the answers here are the cautious ones. Not here: what a gateway did (`watch.py`).
"""

import math
from dataclasses import dataclass, field

from sim.journal.fact import Fact
from sim.journal.spans import Span, any_overlaps, switched

LEFT_BEHIND_S = 2.0
"""After a process has ended its clients and targets hear of it within this: links have latency."""


@dataclass(slots=True)
class Host:
    """One machine; moments in order."""

    ups: list[float] = field(default_factory=list)
    crashes: list[float] = field(default_factory=list)
    stops: list[float] = field(default_factory=list)
    drains: list[float] = field(default_factory=list)
    frozen: list[Span] = field(default_factory=list)

    def take(self, fact: Fact) -> None:
        """Take one fact about this host."""
        match fact.kind:
            case "host_up":
                self.ups.append(fact.at)
            case "host_crashed":
                self.crashes.append(fact.at)
            case "host_stopped":
                (self.stops if fact.has("clean") else self.crashes).append(fact.at)
            case "drain_begun":
                self.drains.append(fact.at)
            case _:
                assert fact.kind == "fault", fact.kind
                if fact.has("on"):
                    self.frozen.append(Span(fact.at, fact.at + _amount(fact)))

    @property
    def ends(self) -> list[float]:
        """When processes ended, in whatever way."""
        return sorted((*self.crashes, *self.stops))

    def up(self) -> list[Span]:
        """Give when at least one process ran; a host nobody noted as up is taken for up."""
        if not self.ups:
            return [Span(-math.inf)]
        return switched(sorted([*((at, True) for at in self.ups), *((at, False) for at in self.ends)]))

    def crashed(self, since: float, until: float) -> bool:
        """Whether a process died without a word in this time, or shortly before it."""
        return any(since - LEFT_BEHIND_S <= at <= until for at in self.crashes)

    def leaving(self, since: float, until: float) -> bool:
        """Whether a process was shutting down in this time, or ended shortly before it."""
        ends = self.ends
        spans = (Span(at, min((end for end in ends if end >= at), default=math.inf)) for at in self.drains)
        return any_overlaps(spans, since - LEFT_BEHIND_S, until)

    def down(self, since: float, until: float) -> bool:
        """Whether for a moment of this time no process ran."""
        return not any(span.start <= since and span.end >= until for span in self.up())

    def stood_still_s(self, since: float, until: float) -> float:
        """Give how many seconds of this time it was frozen."""
        return sum(span.shared_s(since, until) for span in self.frozen)

    def thawed_at(self, moment: float) -> float:
        """Give when it could act upon something that came at this moment."""
        return max((span.end for span in self.frozen if span.overlaps(moment, moment)), default=moment)

    def doubled(self, moment: float) -> bool:
        """Whether two processes may run at this moment: one that leaves, and its successor."""
        begun = sum(at <= moment for at in self.ups)
        return begun - sum(at < moment for at in self.ends) > 1

    def disturbed(self, since: float, until: float) -> bool:
        """Whether it was not simply up and running all this time."""
        return (
            self.crashed(since, until)
            or self.leaving(since, until)
            or self.down(since, until)
            or any_overlaps(self.frozen, since - LEFT_BEHIND_S, until)
        )

    def changed(self, since: float, until: float) -> bool:
        """Whether a process began, ended or was told to leave in this time: what was remembered may be gone."""
        return any(since <= at <= until for at in (*self.ups, *self.crashes, *self.stops, *self.drains))


def _amount(fact: Fact) -> float:
    value = fact.members.get("amount")
    return float(value) if isinstance(value, int | float) else 0.0
