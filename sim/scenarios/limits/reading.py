"""What a journal tells of limits: who reserved, was refused or passed uncounted, and what the store said of it.

Only facts count, never what a draft intended. Not here: which behaviour is the documented one (the scenarios).
"""

from collections.abc import Iterator

from sim.checkers.reserved import Reserved, Used
from sim.journal.calls import Call
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.journal.watch import watch_of

STORE = ("redis_away", "redis_hung")

EDGE_S = 0.6
"""Nearer than this to the edge of an outage nothing is claimed."""

ANSWERED = frozenset({"whole", "done"})


class Quotas:
    """A journal, as far as limits go. `key` is the account of the key that is limited."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.watch = watch_of(journal)
        self.reserved = Reserved(self.watch, journal)
        self.key_ids = {str(fact.members["name"]): fact.text("key") for fact in journal.of("key_made")}
        self.key = f"key:{self.key_ids['app']}"
        self.quiet_at = self.watch.phases.get("quiet", self.watch.ends_at)

    def limit(self, name: str, account: str = "") -> float:
        """Give a limit."""
        return self.watch.number(f"limit:{name}:{account or self.key}", -1.0)

    def spans(self, *kinds: str) -> list[Span]:
        """Give when the store was in trouble, in order."""
        return sorted(self.watch.fault_spans(*kinds), key=lambda span: span.start)

    def sent(self, since: float, until: float, key: str = "app") -> list[Call]:
        """Give the calls of a key sent in this time whose clients waited for their answers."""
        return [
            call
            for call in self.watch.calls.values()
            if since <= call.sent_at < min(until, self.quiet_at) and call.ends and self.key_of(call) == key
        ]

    def inside(self, span: Span, key: str = "app") -> list[Call]:
        """Give the calls of a key that were begun and over well within a time."""
        since, until = span.start + EDGE_S, span.end - EDGE_S
        return [call for call in self.sent(since, until, key) if call.over_at <= until]

    @staticmethod
    def key_of(call: Call) -> str:
        """Give the name of a call's key."""
        return call.sents[0].text("key") if call.sents else ""

    def used(self, call: Call) -> Used | None:
        """Give what a call used, if it used anything."""
        return self.reserved.used.get(call.request_id)

    def facts(self, kind: str, call: Call) -> list[Fact]:
        """Give the facts of a kind about one call."""
        return [fact for fact in self.journal.of(kind) if fact.members.get("call") == call.request_id]

    def passed_uncounted(self, call: Call) -> bool:
        """Whether a call was answered, its event says that it was not counted, and nobody reserved for it."""
        used = self.used(call)
        told = self.facts("quota_unknown", call) and not self.facts("quota_reserved", call)
        return answered(call) and used is not None and used.uncounted and bool(told)

    def passed_counted(self, call: Call) -> bool:
        """Whether a call was answered, reserved for and settled, and its event says no word of the contrary."""
        used = self.used(call)
        both = self.facts("quota_reserved", call) and self.facts("quota_settled", call)
        return answered(call) and used is not None and not used.uncounted and bool(both)

    def seen(self, since: float, until: float, account: str = "") -> list[Fact]:
        """Give what the store said of an account in this time."""
        mine = (fact for fact in self.journal.of("quota_seen") if fact.text("account") == (account or self.key))
        return [fact for fact in mine if since <= fact.at < until]

    def last_seen(self, account: str = "") -> Fact | None:
        """Give what the store said last of an account."""
        return next(iter(reversed(self.seen(0.0, float("inf"), account))), None)

    def cost(self, until: float = float("inf")) -> float:
        """Give what all calls of the limited key cost that were booked by a moment, in micro-dollars."""
        mine = self.key.partition(":")[2]
        return sum(used.micros for used in self.reserved.used.values() if used.key == mine and used.at <= until)

    def is_settled(self) -> bool:
        """Whether in the end all of it is counted, and nothing is reserved or runs."""
        last = self.last_seen()
        return (
            last is not None
            and last.number("settled") >= self.cost()
            and not last.has("running")
            and not last.has("reserved")
        )


def answered(call: Call) -> bool:
    """Whether its client got all of an answer."""
    return call.outcome in ANSWERED and call.status == 200


def refused(call: Call, status: int, code: str) -> bool:
    """Whether its client was refused so, and told when to come back."""
    after = str(call.ends[0].members.get("retry_after") or "")
    return (call.status, call.code) == (status, code) and after.isdigit() and int(after) >= 1


def asked_nobody(quotas: Quotas, call: Call) -> bool:
    """Whether no target was asked for a call, and it cost nothing."""
    return not quotas.watch.asked_for.get(call.name) and quotas.used(call) is None


def felt(journal: Journal, name: str) -> Iterator[str]:
    """Say that a fault was felt by somebody who wanted to reserve."""
    if any(fact.members["operation"] == "reserve" for fact in journal.of("quota_unknown")):
        yield name
