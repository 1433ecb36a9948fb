"""What a journal tells of the book-keeping: outages, whose key was verified where and when, what `/readyz` said.

Rules: only facts count, never what a draft intended; what lies so close to an edge that both answers are right is
left out. Not here: which behaviour is the documented one (the scenarios).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.journal.watch import watch_of

AWAY, HUNG = "postgres_away", "postgres_hung"

FRESH_S = 10.0
"""A verdict younger than this is used without asking, so a call within it proves nothing about an outage."""

LOOKUP_S = 3.0
"""What one verification may take in all (FP3)."""

EDGE_S = 1.0
"""Nearer than this to the edge of a window or an outage, nothing is claimed."""

REVERIFY_MAX_S = 6.5
"""The keys in use are asked for every 5 s, a fifth more at most; then the answer has to come."""

BLINK_S = 0.1
"""What a gateway may take for a step that waits for nobody."""

ANSWERED = frozenset({"whole", "done"})


@dataclass(frozen=True, slots=True)
class Asking:
    """One question about keys, at the moment of its answer: found, away or hung. One id alone is a look-up."""

    at: float
    host: str
    ids: tuple[str, ...]
    answer: str


class Books:
    """A journal, as far as the book-keeping goes. `hosts` are the gateways, `key_ids` by name of the key."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.watch = watch_of(journal)
        self.hosts = tuple(dict.fromkeys(fact.host for fact in journal.of("host_up")))
        self.key_ids = {str(fact.members["name"]): fact.text("key") for fact in journal.of("key_made")}
        self.window_s = self.watch.number("key_window_s", 300.0)
        self.outages = sorted(self.watch.fault_spans(AWAY, HUNG), key=lambda span: span.start)
        self.hangs = self.watch.fault_spans(HUNG)
        self.askings = tuple(
            Asking(fact.at, fact.host, tuple(fact.text("ids").split()), fact.text("answer"))
            for fact in journal.of("keys_asked")
        )

    def verified_at(self, host: str, key: str, before: float) -> float:
        """Give when a replica was last told of a key by name; minus infinity: never."""
        name = self.key_ids.get(key, "")
        return max(
            (
                asking.at
                for asking in self.askings
                if asking.host == host and asking.at <= before and asking.answer == "found" and name in asking.ids
            ),
            default=-math.inf,
        )

    def answered_at(self, host: str, before: float) -> float:
        """Give when the database last answered a replica; minus infinity: never."""
        return max(
            (
                asking.at
                for asking in self.askings
                if asking.host == host and asking.at <= before and asking.answer == "found"
            ),
            default=-math.inf,
        )

    def failed_at(self, host: str, since: float) -> float:
        """Give when a replica first learned, after `since`, that the database does not answer; infinite: never."""
        return min(
            (
                asking.at
                for asking in self.askings
                if asking.host == host and asking.at >= since and asking.answer != "found"
            ),
            default=math.inf,
        )

    def sent(self, since: float, until: float) -> Iterator[Call]:
        """Give the calls sent in this time whose clients waited for their answers."""
        for call in self.watch.calls.values():
            if since <= call.sent_at < until and call.ends and call.left is None and not call.takes_its_time:
                yield call

    def waited_s(self, call: Call) -> float:
        """Give how long a call waited until a target saw it, or else until its end."""
        asked = self.watch.asked(call)
        return (asked[0].asked.at if asked else call.over_at) - call.sent_at

    def told(self, host: str, since: float, until: float) -> list[Fact]:
        """Give what `/readyz` said in this time; a probe that got no answer is among it, with status 0."""
        return [fact for fact in self.journal.of("readyz") if fact.host == host and since <= fact.at < until]

    def gauges(self, name: str, host: str, since: float, until: float) -> list[Fact]:
        """Give the new values of a gauge in this time."""
        return [
            fact
            for fact in self.journal.of("gauge")
            if fact.members["name"] == name and fact.host == host and since <= fact.at < until
        ]


def key_of(call: Call) -> str:
    """Give the name of a call's key."""
    return call.sents[0].text("key")


def answered(call: Call) -> bool:
    """Whether its client got all of an answer."""
    return call.outcome in ANSWERED and call.status == 200


def refused_with(call: Call, code: str, *, retry: bool) -> bool:
    """Whether its client got a 503 of this code, with a Retry-After where there must be one."""
    told = str(call.ends[0].members.get("retry_after") or "")
    return (
        call.outcome == "error" and call.status == 503 and call.code == code and (not retry or _seconds(told) >= 1)
    )


def strictly_inside(span: Span, margin_s: float) -> Span:
    """Give a span without its edges."""
    return Span(span.start + margin_s, span.end - margin_s)


def _seconds(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0
