"""S34: clients send a call again under its Idempotency-Key: while it runs, afterwards, and where nobody knows.

Whatever replica they come to, and whatever befell the first: one answer is made and paid for, all get that one or
are told to come back (409), another body is refused (422), and a key is free again once its call came to nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

from sim.draft import CallDraft, Draft, Knobs, Level, Manner, VendorDraft
from sim.faults.plan import Fault
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

CODES = frozenset({"idempotency_conflict", "idempotency_unavailable", "auth_unavailable"})
"""What else than its answer a repeat may be told; a replica that has just started knows no key by itself."""

RUNS_S = 40.0
"""How long a key is taken by a call whose replica was killed: a call's deadline, and the stall of a client."""

COMPLETE = frozenset({"whole", "done"})


def _draft(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    crash_s, hung_s = 30.0, 70.0
    groups = (
        _again(chance, 2.0),
        _other(chance, 4.0),
        _leaver(chance, 8.0),
        _killed(chance, crash_s),
        _unknown(chance, hung_s),
    )
    calls = [call for group in groups for call in group]
    return Draft(
        level=chance.pick((Level.PORTS, Level.WIRE)),
        replicas=2,
        vendors=(VendorDraft("cloud-a", first_token_s=0.5, token_s=0.05),),
        knobs=Knobs(call_total_s=30.0, client_stall_s=10.0, first_token_s=20.0, idle_s=20.0),
        calls=tuple(sorted(calls, key=lambda call: call.at_s)),
        faults=(
            Fault("crash", "gw1", crash_s + 0.7, 3.0),
            Fault(chance.pick(("postgres_hung", "postgres_away")), "", hung_s, round(chance.uniform(4, 8), 3)),
        ),
        runs_s=150.0,
    )


def _call(chance: Chance, word: str, at_s: float, first: CallDraft | None = None) -> CallDraft:
    """Draw a first call, or the same once more, to whichever replica."""
    again = (
        replace(first, manner=Manner.READS)
        if first is not None
        else CallDraft(
            at_s, once=True, word=word, question=word, streamed=chance.happens(0.5), tokens=chance.between(20, 40)
        )
    )
    return replace(again, at_s=round(at_s, 3), gateway=chance.between(0, 1))


def _again(chance: Chance, at_s: float) -> Iterator[CallDraft]:
    first = _call(chance, "again", at_s)
    yield first
    for _ in range(chance.between(1, 4)):
        yield _call(chance, "again", at_s + chance.uniform(0.1, 1.0), first)
    for _ in range(chance.between(1, 4)):
        yield _call(chance, "again", at_s + chance.uniform(8.0, 20.0), first)


def _other(chance: Chance, at_s: float) -> Iterator[CallDraft]:
    first = _call(chance, "other", at_s)
    yield first
    for later_s in (chance.uniform(0.1, 1.0), chance.uniform(8.0, 20.0)):
        yield replace(_call(chance, "other", at_s + later_s, first), question="other-body")


def _leaver(chance: Chance, at_s: float) -> Iterator[CallDraft]:
    first = _call(chance, "leaver", at_s)
    yield replace(first, manner=Manner.LEAVES_BEFORE, after=round(chance.uniform(0.1, 0.9), 3))
    for _ in range(chance.between(1, 3)):
        yield _call(chance, "leaver", at_s + chance.uniform(3.0, 12.0), first)


def _killed(chance: Chance, at_s: float) -> Iterator[CallDraft]:
    first = replace(_call(chance, "killed", at_s), gateway=0)
    yield first
    for _ in range(chance.between(2, 4)):
        yield _call(chance, "killed", at_s + chance.uniform(5.0, RUNS_S - 2.0), first)


def _unknown(chance: Chance, at_s: float) -> Iterator[CallDraft]:
    first = _call(chance, "unknown", at_s + chance.uniform(0.1, 1.0))
    yield first
    for later_s in (2.0, 12.0, 45.0, 60.0):
        yield _call(chance, "unknown", at_s + later_s + chance.uniform(0.0, 1.0), first)


def _words(watch: Watch) -> dict[str, list[Call]]:
    found: dict[str, list[Call]] = {}
    for call in watch.calls.values():
        if call.word:
            found.setdefault(call.word, []).append(call)
    return found


def _active(journal: Journal) -> Iterator[str]:
    asked = {fact.text("answer") for fact in journal.of("repeat_asked")}
    if {"begun", "running", "kept", "other_body"} <= asked:
        yield "S34"


def _seen(journal: Journal) -> Iterator[str]:
    watch = watch_of(journal)
    words = _words(watch)
    if (
        len(words) == len(GROUPS)
        and all(_paid_once(watch, calls) and _told_rightly(calls) for calls in words.values())
        and all(GROUPS[word](watch, calls) for word, calls in words.items())
    ):
        yield "S34"


def _paid_once(watch: Watch, calls: list[Call]) -> bool:
    """Tell whether one call at most had an answer made."""
    made = [
        usage
        for call in calls
        for usage in watch.usages.get(call.request_id, ())
        if usage.members["status"] == "ok"
    ]
    return len(made) <= 1


def _told_rightly(calls: list[Call]) -> bool:
    """Tell whether all that were answered got the same, and all others were told why not."""
    answers = {call.text for call in calls if call.outcome in COMPLETE}
    others = [call for call in calls if call.outcome == "error"]
    return len(answers) <= 1 and all(call.code in CODES for call in others)


def _answered(calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.outcome in COMPLETE]


def _refused(calls: list[Call], status: int) -> list[Call]:
    return [call for call in calls if call.status == status]


def _of_again(watch: Watch, calls: list[Call]) -> bool:
    del watch
    return len(_answered(calls)) >= 2 and len(_refused(calls, 409)) >= 1


def _of_other(watch: Watch, calls: list[Call]) -> bool:
    del watch
    return len(_answered(calls)) == 1 and len(_refused(calls, 422)) == len(calls) - 1


def _of_leaver(watch: Watch, calls: list[Call]) -> bool:
    del watch
    return len(_answered(calls)) >= 1


def _of_killed(watch: Watch, calls: list[Call]) -> bool:
    """Tell whether nobody was asked for it again, although its client was left without an answer."""
    first = min(calls, key=lambda call: call.sent_at)
    again = [call for call in calls if call is not first and call.outcome != "refused"]
    return all(call.status == 409 and not watch.asked_for.get(call.name) for call in again)


def _of_unknown(watch: Watch, calls: list[Call]) -> bool:
    del watch
    last = max(calls, key=lambda call: call.sent_at)
    return len(_refused(calls, 503)) >= 1 and last.outcome in COMPLETE


GROUPS = {
    "again": _of_again,
    "other": _of_other,
    "leaver": _of_leaver,
    "killed": _of_killed,
    "unknown": _of_unknown,
}

WORD_SCENARIOS = (
    Scenario("s34-same-word", "a call comes again under its Idempotency-Key", ("S34",), _draft, _seen, _active),
)
