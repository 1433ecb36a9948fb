"""Rates: no more is admitted in any time than its bucket allows, and who comes back when told to is not refused.

A bucket holds one minute's worth and fills all the time, so in any `s` seconds at most `limit * (1 + s / 60)`
pass; what was given back in them passes once more. Only what surely lies within a time is counted in it, so facts
that come late do no harm. A store that lost its memory begins with full buckets.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping

from sim.checkers.reserved import Reservation, Reserved
from sim.checkers.violation import Violation
from sim.journal.calls import text_of
from sim.journal.fact import Fact
from sim.journal.journal import Journal

CODE = "I3"

MINUTE_S = 60.0

ROUNDED_S = 0.001
"""Waits are told in whole milliseconds, rounded up."""

ROUNDING = 1e-6
"""Of sums of numbers that are not whole."""

_RATES = {"requests": "rpm", "tokens": "tpm"}

Limits = Mapping[str, Mapping[str, float]]


def rates_hold(limits: Limits, reserved: Reserved, journal: Journal) -> Iterator[Violation]:
    """Find times in which too much passed, and refusals without need."""
    for account, its in limits.items():
        for name, most in ((name, its[name]) for name in ("rpm", "tpm") if name in its):
            yield from _no_more(reserved, account, name, most)
    yield from _refusals(limits, reserved, journal)
    yield from _returns(reserved, journal)


def _amount(one: Reservation, name: str) -> float:
    return 1.0 if name == "rpm" else one.tokens


def _no_more(reserved: Reserved, account: str, name: str, most: float) -> Iterator[Violation]:
    made = [one for one in reserved.of(account) if not one.unheard]
    latest_first = sorted(made, key=lambda one: one.asked_at, reverse=True)
    for last in made:
        passed = 0.0
        for first in latest_first:
            if first.at > last.at:
                continue
            if reserved.troubled(first.asked_at, last.at):
                break
            passed += _amount(first, name)
            seconds = last.at - first.asked_at
            room = most * (1 + seconds / MINUTE_S) + ROUNDING
            if passed > room and passed > room + _given_back(reserved, made, name, first.asked_at, last.at):
                what = f"{passed:.0f} {name} of {account} passed in {seconds:.3f} s, its limit is {most:.0f}"
                yield Violation(CODE, last.at, what)
                return


def _given_back(reserved: Reserved, made: list[Reservation], name: str, since: float, until: float) -> float:
    """Give what came back into a bucket in a time at most; all of what somebody had who was taken for dead."""
    near = [one for one in made if one.asked_at <= until and one.gone_at >= since]
    ended = [one for one in near if min(one.over_at, one.dead_at) <= until]
    if name == "rpm":
        return sum(one.given_back for one in ended)
    dead = [one for one in near if reserved.taken_for_dead(one, until)]
    return sum(one.tokens for one in dead) + sum(
        max(0.0, one.tokens - one.used_tokens) for one in ended if one not in dead
    )


def _refusals(limits: Limits, reserved: Reserved, journal: Journal) -> Iterator[Violation]:
    """Hold each refusal against the fullest that its bucket can be."""
    for fact in journal.of("quota_refused"):
        account, name = fact.text("account"), _RATES.get(text_of(fact.members["limit"]), "")
        if not name or reserved.unclear(fact.at):
            continue
        most = limits.get(account, {}).get(name)
        if most is None:
            yield Violation(
                CODE, fact.at, f"{fact.host} refused for the {name} of {account}, which has no such limit"
            )
            continue
        amount = 1.0 if name == "rpm" else fact.number("tokens")
        wait_ms = fact.members["wait_ms"]
        if wait_ms is None:
            if amount <= most:
                yield Violation(CODE, fact.at, f"{fact.host} refused {amount:.0f} {name} of {most:.0f} for ever")
            continue
        since = fact.at - fact.number("waited_s")
        ahead_s = _fullest_s(reserved, account, name, most, fact.at) + MINUTE_S * amount / most - MINUTE_S
        told_s = fact.number("wait_ms") / 1000
        if told_s > ahead_s - (since - fact.at) + ROUNDED_S + ROUNDING:
            what = (
                f"{fact.host} refused {fact.text('call')} for {told_s:.3f} s, {name} of {account} are free in"
                f" {ahead_s:.3f} s at the latest"
            )
            yield Violation(CODE, fact.at, what)


def _fullest_s(reserved: Reserved, account: str, name: str, most: float, at: float) -> float:
    """Give how far ahead of a moment the bucket is full again at the latest."""
    taken: list[tuple[float, float]] = []
    for one in reserved.of(account):
        if one.asked_at > at:
            continue
        taken.append((one.at, _amount(one, name)))
        if name == "tpm" and one.over_at <= at:
            known = 0.0 if reserved.lost(one, at) else one.tokens
            taken.append((one.over_at, max(0.0, one.used_tokens - known)))
    full_at = -math.inf
    for moment, amount in sorted(taken):
        full_at = max(full_at, min(moment, at)) + MINUTE_S * amount / most
    return max(0.0, full_at - at)


def _returns(reserved: Reserved, journal: Journal) -> Iterator[Violation]:
    """Find calls that came when they were told to, with nobody else in between, and were refused once more."""
    last: dict[str, Fact] = {}
    moved: dict[str, float] = defaultdict(lambda: -math.inf)
    for fact in journal.of("quota_reserved", "quota_refused", "quota_unknown", "quota_settled"):
        if fact.kind == "quota_settled":
            for one in reserved.by_call.get(fact.text("call"), ()):
                if one.used_tokens > one.tokens or one.used_micros > one.micros or reserved.lost(one, fact.at):
                    moved.update(dict.fromkeys(one.accounts, fact.at))
            continue
        accounts = str(fact.members.get("accounts") or "").split()
        if fact.kind == "quota_refused":
            before = last.get(fact.text("account"))
            if before is not None and _told_wrong(reserved, before, fact, moved[fact.text("account")]):
                what = f"{fact.host} refused {fact.text('call')}, which came alone when it was told to"
                yield Violation(CODE, fact.at, what)
            last[fact.text("account")] = fact
        else:
            moved.update(dict.fromkeys(accounts, fact.at))


def _told_wrong(reserved: Reserved, before: Fact, fact: Fact, moved_at: float) -> bool:
    told, again = before.members["wait_ms"], fact.members["wait_ms"]
    if not isinstance(told, int | float) or again is None or before.members["limit"] == "concurrent":
        return False
    if any(before.members[name] != fact.members[name] for name in ("limit", "accounts")):
        return False
    if any(before.number(name) < fact.number(name) for name in ("tokens", "micros")):
        return False
    due_at = before.at + told / 1000 + ROUNDED_S
    if fact.at - fact.number("waited_s") < due_at or moved_at >= before.at - before.number("waited_s"):
        return False
    return not reserved.troubled(before.at - MINUTE_S, fact.at)
