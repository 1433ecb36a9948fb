"""I1: every call that was sent ends exactly once, in time, by a documented outcome and status.

In time is `call_total_s`, some grace, and for as long as its gateway stood still. A call may be cut or refused
only where its gateway died, was shutting down, did not run or stood still, or where its client did not read. An
internal error is never right. Whether a key was rightly refused is I6.
"""

from collections.abc import Iterator

from sim.checkers.documented import INTERNAL, is_documented, may_be_vendors
from sim.checkers.violation import Violation
from sim.journal.calls import Call
from sim.journal.journal import Journal
from sim.journal.vocabulary import OUTCOMES
from sim.journal.watch import Watch, watch_of

CODE = "I1"
TITLE = "every call ends once, in time, by a documented outcome"

GRACE_S = 30.0
"""Beyond the deadline of a call: look-ups, connections and last words have bounds of their own."""

CALL_TOTAL_S = 660.0

BAD_FORM = frozenset(
    {
        "invalid_request",
        "model_not_found",
        "not_found",
        "method_not_allowed",
        "request_timeout",
        "request_too_large",
        "unsupported_encoding",
        "expectation_failed",
    }
)
"""What only a bad request may be told; the clients of a world make none unless they say that it is odd."""

STALE = "stale"
"""A client's own word for a kept connection that was closed before its request was read: it asks again."""


def check(journal: Journal) -> Iterator[Violation]:
    """Find calls that ended never, twice, late or in a way nobody documented."""
    watch = watch_of(journal)
    for call in watch.calls.values():
        yield from _ends_once(watch, call)
        if call.sents and call.ends:
            yield from _ends_in_time(watch, call)
            yield from _ends_as_documented(watch, call)
    yield from _mistakes(journal)


def _ends_once(watch: Watch, call: Call) -> Iterator[Violation]:
    at = call.over_at if call.ends else watch.ends_at
    if len(call.sents) != 1:
        yield Violation(CODE, at, f"was sent {len(call.sents)} times", call.name)
    if len(call.ends) > 1:
        outcomes = ", ".join(fact.text("outcome") for fact in call.ends)
        yield Violation(CODE, call.ends[1].at, f"ended {len(call.ends)} times: {outcomes}", call.name)
    if call.sents and not call.ends and not _is_gone(call):
        waited_s = watch.ends_at - call.sent_at
        if watch.over or waited_s > _limit_s(watch, call, watch.ends_at):
            yield Violation(CODE, at, f"sent to {call.gateway} at {call.sent_at:.3f} s, never ended", call.name)


def _is_gone(call: Call) -> bool:
    return call.left is not None and call.left.members["how"] == "vanish"


def _limit_s(watch: Watch, call: Call, until: float) -> float:
    frozen_s = watch.host(call.gateway).stood_still_s(call.sent_at, until)
    return watch.longer_s(watch.number("call_total_s", CALL_TOTAL_S)) + GRACE_S + frozen_s


def _ends_in_time(watch: Watch, call: Call) -> Iterator[Violation]:
    if call.takes_its_time or watch.host(call.gateway).crashed(call.sent_at, call.over_at):
        return
    took_s, limit_s = call.over_at - call.sent_at, _limit_s(watch, call, call.over_at)
    if took_s > limit_s:
        what = f"{call.outcome} after {took_s:.3f} s on {call.gateway}, allowed are {limit_s:.0f} s"
        yield Violation(CODE, call.over_at, what, call.name)


def _ends_as_documented(watch: Watch, call: Call) -> Iterator[Violation]:
    if call.outcome not in OUTCOMES:
        yield Violation(CODE, call.over_at, f"outcome {call.outcome!r}, which nobody documented", call.name)
    elif call.status == 500 or call.code == INTERNAL:
        what = f"{call.outcome} with status {call.status} and code {call.code!r} from {call.gateway}"
        yield Violation(CODE, call.over_at, what, call.name)
    elif not _is_right(watch, call):
        what = f"{call.outcome} with status {call.status} and code {call.code!r} from {call.gateway}, undocumented"
        yield Violation(CODE, call.over_at, what, call.name)


def _is_right(watch: Watch, call: Call) -> bool:
    match call.outcome:
        case "whole" | "done":
            return call.status == 200 and not call.code
        case "error":
            if call.code in BAD_FORM and not call.is_odd and not _is_passed_on(watch, call):
                return False
            return is_documented(call.status, call.code) or _is_passed_on(watch, call)
        case "error_event":
            # A vendor's own error after something visible keeps its code.
            return call.status == 200 and bool(call.code)
        case "refused" if call.code == STALE and not watch.asked_for.get(call.name):
            return True
        case "cut":
            # One that leaves has a last word for each of its clients, at the second signal too.
            return call.takes_its_time or watch.host(call.gateway).crashed(call.sent_at, call.over_at)
        case "refused":
            return call.takes_its_time or watch.host(call.gateway).disturbed(call.sent_at, call.over_at)
        case _:
            return call.left is not None


def _is_passed_on(watch: Watch, call: Call) -> bool:
    """Tell whether a target of the call said so, by its status or by an error inside of a 200."""
    told = {exchange.status for exchange in watch.asked_for.get(call.name, ())}
    return may_be_vendors(call.status) and bool(told & {200, call.status})


def _mistakes(journal: Journal) -> Iterator[Violation]:
    """Find what the gateway itself says of its own mistakes, whatever the client saw."""
    for fact in journal.of("record", "log"):
        if fact.kind == "log" and fact.members["name"] == INTERNAL:
            yield Violation(CODE, fact.at, f"{fact.host} logged an internal error: {fact.members['text']}")
        elif fact.kind == "record" and (fact.members["status"] == 500 or fact.members["code"] == INTERNAL):
            yield Violation(CODE, fact.at, f"{fact.host} recorded {fact.members['request_id']} as internal error")
