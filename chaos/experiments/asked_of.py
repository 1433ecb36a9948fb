"""Questions to a run about its targets: who was asked when, with which word a target stands in a call's story.

Not here: calls by themselves (`reading.py`), what must be seen.
"""

from collections.abc import Iterable
from typing import NamedTuple

from chaos.experiments.experiment import Broken
from sim.journal.calls import Call, Exchange
from sim.journal.fact import Fact

ERROR_EVENT = "error_event"


def words_of(call: Call) -> dict[str, str]:
    """Read `X-KTMS-Attempts`: each target that was looked at, and what became of it there."""
    told = str(call.ends[0].members["attempts"] or "") if call.ends else ""
    parts = [part.rpartition(":") for part in told.split(", ") if part]
    return {who.removeprefix("local/"): word for who, _, word in parts}


def was_at(broken: Broken, call: Call, target: str) -> bool:
    """Whether it was asked there, as the target says, or at least dialled, as its gateway says."""
    return target in words_of(call) or any(one.target == target for one in exchanges_of(broken, call))


def exchanges_of(broken: Broken, call: Call) -> list[Exchange]:
    """Give what was asked for a call, in order."""
    return broken.watch.asked_for.get(call.name, [])


def asked_of(broken: Broken, target: str, since: float, until: float, gateway: str = "") -> list[Exchange]:
    """Give what calls were asked of a target in a span of the run, by one gateway or all."""
    return [
        one
        for one in broken.watch.exchanges
        if one.target == target and one.call and since <= one.asked.at <= until and gateway in ("", one.gateway)
    ]


def added_share_s(broken: Broken, calls: Iterable[Call], share: float) -> float:
    """Give how much longer this share of the calls took, at most, than their targets did; 0 without calls."""
    added = sorted(
        call.over_at - call.sent_at - sum(one.told_at - one.asked.at for one in exchanges_of(broken, call))
        for call in calls
    )
    return added[min(len(added) - 1, int(share * len(added)))] if added else 0.0


def struck(broken: Broken, row: str, *targets: str) -> list[tuple[Call, Fact]]:
    """Give the calls that a fault struck at these targets, or at any, with the fact that says so."""
    return [
        (broken.watch.calls[name], fact)
        for fact in broken.journal.of("fault_active")
        if fact.members["id"] == row
        and (name := str(fact.members.get("call") or "")) in broken.watch.calls
        and (not targets or fact.text("target") in targets)
    ]


def settled(broken: Broken, calls: Iterable[Call], target: str) -> list[Call]:
    """Keep the calls of which a part was booked that this target had delivered before it broke off."""
    return [
        call
        for call in calls
        if any(
            usage.text("target") == target
            and usage.members["status"] == "interrupted"
            and usage.number("completion_tokens") > 0
            for usage in broken.watch.usages.get(call.request_id, ())
        )
    ]


class Turned(NamedTuple):
    """A breaker that has moved, as its gateway has logged it."""

    gateway: str
    at: float
    state: int


CLOSED, HALF_OPEN, OPEN = 0, 1, 2


def breaker_of(broken: Broken, target: str) -> list[Turned]:
    """Give how the breakers of a vendor moved, in order."""
    return [
        Turned(fact.host, fact.at, int(fact.number("value")))
        for fact in broken.journal.of("gauge")
        if fact.members["name"] == "breaker_state" and fact.text("label") == target
    ]
