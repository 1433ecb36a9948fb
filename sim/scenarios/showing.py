"""Reading a journal for what it shows: each call with all that is known of it, dials in order, times of faults.

Rules: a behaviour counts as seen only from facts of several parties (client, target, usage, record), and only if
every call that met the fault shows it. Not here: which behaviour belongs to which id (the scenarios), and what
must never happen (`sim/checkers`).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sim.journal.calls import Attempt, Call, Exchange, attempts_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.spans import Span, switched
from sim.journal.watch import Watch, watch_of

SOON_S = 0.25
"""On a link without faults whatever follows from a fact has followed by then."""

ANSWERED = frozenset({"done", "whole"})


@dataclass(frozen=True, slots=True)
class Dial:
    """One attempt as it was settled: `word` is that of the record, `status` that of the usage event."""

    call: Call
    usage: Fact
    word: str

    @property
    def target(self) -> str:
        """Name of the vendor or node."""
        return self.usage.text("target")

    @property
    def status(self) -> str:
        """How the attempt was booked."""
        return self.usage.text("status")

    @property
    def ended_at(self) -> float:
        """When it was settled."""
        return self.usage.at

    @property
    def began_at(self) -> float:
        """When it began."""
        return self.usage.at - self.usage.number("duration_s")

    @property
    def decided_at(self) -> float:
        """When it was known how it goes: with the first text of a good stream, else at its end."""
        first_s = self.usage.members.get("first_token_s")
        good = self.status == "ok" and isinstance(first_s, int | float)
        return self.began_at + float(first_s or 0.0) if good else self.ended_at

    @property
    def tokens(self) -> float:
        """How many tokens of an answer it was booked with."""
        return self.usage.number("completion_tokens")


@dataclass(frozen=True, slots=True)
class Story:
    """One call: what its client saw, what targets saw of it, how it was settled and recorded.

    `visible_at` is when its client saw the first text, infinite if never; `code` is that of the record.
    """

    call: Call
    visible_at: float
    asked: tuple[Exchange, ...]
    dials: tuple[Dial, ...]
    attempts: tuple[Attempt, ...]
    code: str

    @property
    def targets(self) -> tuple[str, ...]:
        """Give who was dialled, in order."""
        return tuple(dial.target for dial in self.dials)

    def dial(self, target: str) -> Dial | None:
        """Give the attempt at a target."""
        return next((dial for dial in self.dials if dial.target == target), None)

    def exchange(self, target: str) -> Exchange | None:
        """Give the first request that a target saw."""
        return next((one for one in self.asked if one.target == target), None)

    def passed_over(self, target: str, word: str) -> bool:
        """Whether a target was passed over for this reason, and not dialled."""
        return Attempt(target, word) in self.attempts and target not in self.targets

    @property
    def answered_by(self) -> str:
        """Give who answered: the client has just what that target sent, and it was booked so; empty if nobody."""
        call, dial = self.call, self.dials[-1] if self.dials else None
        exchange = None if dial is None else self.exchange(dial.target)
        if dial is None or exchange is None or exchange.told is None or call.outcome not in ANSWERED:
            return ""
        same = bool(call.text) and call.text == exchange.told.text("text") and exchange.says("finished")
        return dial.target if same and call.status == 200 and (dial.status, dial.word) == ("ok", "ok") else ""

    def moved_on_from(self, target: str) -> bool:
        """Whether a target failed, was asked once and cost nothing, and a later one answered the client."""
        dial = self.dial(target)
        seen = sum(one.target == target for one in self.asked)
        return (
            dial is not None
            and (dial.status, dial.tokens) == ("failed", 0)
            and dial.word != "ok"
            and self.targets.count(target) == 1
            and seen <= 1
            and self.answered_by not in ("", target)
        )

    def broke_at(self, target: str) -> bool:
        """Whether the stream of a target ended with one error event after text, was settled, and was the only one.

        The outcome `error_event` says: one such event, nothing after it, no end mark.
        """
        call, exchange = self.call, self.exchange(target)
        if exchange is None or exchange.told is None or self.targets != (target,) or len(self.asked) != 1:
            return False
        dial = self.dials[0]
        right = (call.outcome, call.code, self.code) == ("error_event", "stream_interrupted", "stream_interrupted")
        delivered = bool(call.text) and exchange.told.text("text").startswith(call.text)
        return right and delivered and dial.status == "interrupted" and dial.tokens > 0


def stories(journal: Journal) -> list[Story]:
    """Give the calls that were made until the world had to be quiet, in the order in which they were sent."""
    watch = watch_of(journal)
    visible = {fact.text("call"): fact.at for fact in journal.of("call_visible")}
    until = watch.phases.get("quiet", watch.ends_at)
    calls = [call for call in watch.calls.values() if call.sents and call.sent_at < until and call.code != "stale"]
    calls.sort(key=lambda call: call.sent_at)
    return [_story(watch, call, visible.get(call.name, math.inf)) for call in calls]


def _story(watch: Watch, call: Call, visible_at: float) -> Story:
    records = watch.records.get(call.request_id, []) if call.request_id else []
    usages = watch.usages.get(call.request_id, []) if call.request_id else []
    attempts = attempts_of(records[0]) if records else ()
    dialled = watch.dialled(records[0]) if records else ()
    agree = [usage.text("target") for usage in usages] == [attempt.name for attempt in dialled]
    # Where the books do not agree no word of theirs is to be believed.
    words = [attempt.word for attempt in dialled] if agree else [""] * len(usages)
    dials = tuple(Dial(call, usage, word) for usage, word in zip(usages, words, strict=True))
    code = str(records[0].members["code"] or "") if records else ""
    return Story(call, visible_at, tuple(watch.asked(call)), dials, attempts, code)


def dials_by_gateway(told: Iterable[Story], target: str) -> dict[str, list[Dial]]:
    """Give all attempts at a target by gateway, in the order in which they ended."""
    found: dict[str, list[Dial]] = defaultdict(list)
    for story in told:
        for dial in story.dials:
            if dial.target == target:
                found[dial.call.gateway].append(dial)
    return {gateway: sorted(dials, key=lambda dial: dial.ended_at) for gateway, dials in found.items()}


def spans(journal: Journal, kind: str, target: str) -> list[Span]:
    """Give when a fault of this kind was on at this target."""
    return switched([(fact.at, fact.has("on")) for fact in faults(journal, kind) if fact.text("target") == target])


def faults(journal: Journal, *kinds: str) -> Iterator[Fact]:
    """Give the facts that tell of faults of these kinds, beginning or ending."""
    return (fact for fact in journal.of("fault") if fact.text("fault") in kinds)


def victims(journal: Journal) -> list[str]:
    """Give the targets that faults were aimed at, each once."""
    return [*dict.fromkeys(fact.text("target") for fact in journal.of("fault") if fact.text("target"))]


def suffered(journal: Journal, name: str) -> list[Fact]:
    """Give the facts of single answers to calls that suffered this row of the failure matrix."""
    return [fact for fact in journal.of("fault_active") if fact.members["id"] == name and fact.members.get("call")]


def all_show(met: Iterable[Story], shows: Callable[[Story], bool]) -> bool:
    """Whether there is a call that met the fault, and each of them shows the behaviour."""
    showing = [shows(story) for story in met]
    return bool(showing) and all(showing)
