"""What must be counted and cannot be: dollars and answers without Redis, and after it was emptied: FR2 to 4, FR11.

Not here: rates (`redis.py`), a ledger that is away.
"""

import math
from collections.abc import Iterator

from chaos.experiments import faults
from chaos.experiments.experiment import Broken, Expected, Experiment, Figure, Spans
from chaos.experiments.reading import (
    CLOUD,
    after_fault,
    calls_of,
    ended,
    good,
    in_fault,
    of_keys,
    share,
    told,
    unasked,
)
from chaos.proxy.proxy import Proxy
from chaos.stand.settings import REDIS, KeyWish, StandSettings
from chaos.traffic.load import Mix
from sim.journal.calls import Call

OPEN, CLOSED, CACHED = "open", "closed", "cached"

FULL, HALF = "full", "half"
"""Keys that are closed: one has spent all it may when Redis is emptied, the other about half."""

NOTICED_S, PARTING_S = 1.0, 0.2
"""Calls of the first second may have begun while Redis answered, those of the last moment when it did again."""

BACK_S = 3.0
"""Used again within this (FR10)."""

COUNTED = StandSettings(
    keys=(
        KeyWish("app-1"),
        KeyWish(OPEN, ("--usd-per-day", "100", "--dollar-limit-mode", "open")),
        KeyWish(CLOSED, ("--usd-per-day", "100", "--dollar-limit-mode", "closed")),
        KeyWish(CACHED, ("--cache-ttl", "600")),
    )
)
"""Limits that nobody reaches: it is about counting."""

LIMIT_MICROS = {FULL: 2_000, HALF: 6_000}
"""What each may spend a day: some 700 micro-dollars a second are wished."""

SPENT = StandSettings(
    keys=(
        KeyWish("app-1"),
        *(
            KeyWish(name, ("--usd-per-day", f"{micros / 1e6:f}", "--dollar-limit-mode", "closed"))
            for name, micros in LIMIT_MICROS.items()
        ),
    )
)

PICOS_PER_MICRO = 1_000_000


def _while_down(broken: Broken, *keys: str) -> list[Call]:
    lasted_s = broken.ended_at - broken.began_at
    return ended(of_keys(calls_of(broken, since_s=NOTICED_S, until_s=lasted_s - PARTING_S), *keys))


def _around(broken: Broken, *keys: str) -> list[Call]:
    """Give the calls from before the outage, and from when it must be over."""
    before = calls_of(broken, since_s=-math.inf, until_s=-NOTICED_S)
    return ended(of_keys([*before, *after_fault(broken, BACK_S)], *keys))


def _are_uncounted(broken: Broken, calls: list[Call]) -> list[bool]:
    """Tell of each row of these calls whether it is flagged."""
    rows = [row for call in calls for row in broken.watch.usages.get(call.request_id, ())]
    return [row.has("uncounted") for row in rows]


def _open_pass(broken: Broken) -> Iterator[Expected]:
    calls = _while_down(broken, OPEN)
    fine, flags = good(calls), _are_uncounted(broken, calls)
    others = _are_uncounted(broken, _around(broken, OPEN))
    words = (
        f"{share(len(fine), len(calls))} calls pass, {share(sum(flags), len(flags))} of their rows are flagged,"
        f" {share(sum(others), len(others))} of all others"
    )
    yield Expected("FR2", len(fine) == len(calls) > 0 and all(flags) and bool(others) and not any(others), words)


def _closed_wait(broken: Broken) -> Iterator[Expected]:
    calls, others = _while_down(broken, CLOSED), _around(broken, CLOSED)
    refused = [call for call in told(calls, "budget_unavailable") if call.status == 503]
    nobody, fine = unasked(broken, calls), good(others)
    words = (
        f"{share(len(refused), len(calls))} are told so, for {len(calls) - len(nobody)} a target is asked;"
        f" {share(len(fine), len(others))} pass before and after"
    )
    right = len(refused) == len(nobody) == len(calls) > 0 and len(fine) == len(others) > 0
    yield Expected("FR3", right, words)


def _answers_are_missed(broken: Broken) -> Iterator[Expected]:
    """Answers are given again before and after, asked for anew meanwhile; what was answered then was not kept."""
    calls = _while_down(broken, CACHED)
    again, others = unasked(broken, calls), _around(broken, CACHED)
    new, kept = _first_asked_meanwhile(broken), _known_at_once(broken)
    words = (
        f"{share(len(good(calls)), len(calls))} are answered, {len(again)} of them from what was kept;"
        f" {len(unasked(broken, others))} of {len(others)} before and after;"
        f" {len(kept)} of {len(new)} new questions were kept meanwhile"
    )
    missed = len(good(calls)) == len(calls) > 0 and not again
    yield Expected("FR4", missed and bool(unasked(broken, others)) and bool(new) and not kept, words)


def _first_asked_meanwhile(broken: Broken) -> list[str]:
    """Name the questions that were asked for the first time while Redis was away, and again after."""
    calls = of_keys(broken.watch.calls.values(), CACHED)
    first: dict[str, float] = {}
    for call in calls:
        first[call.question] = min(first.get(call.question, math.inf), call.sent_at)
    later = {call.question for call in good(calls) if call.sent_at > broken.ended_at}
    new = broken.began_at + NOTICED_S, broken.ended_at - PARTING_S
    return sorted(name for name, at in first.items() if new[0] <= at <= new[1] and name in later)


def _known_at_once(broken: Broken) -> list[str]:
    """Name those of them that were answered after without that any target had been asked since."""
    found = []
    for name in _first_asked_meanwhile(broken):
        later = [one for one in broken.watch.calls.values() if one.question == name]
        given = [one.over_at for one in unasked(broken, good(later)) if one.sent_at > broken.ended_at]
        told_at = [asked.told_at for one in later for asked in broken.watch.asked_for.get(one.name, ())]
        new = [at for at in told_at if at > broken.ended_at]
        if given and min(given) < min(new, default=math.inf):
            found.append(name)
    return found


def _down(broken: Broken) -> Iterator[Expected]:
    yield from _open_pass(broken)
    yield from _closed_wait(broken)
    yield from _answers_are_missed(broken)


def _passed_uncounted(broken: Broken) -> float:
    return len(good(_while_down(broken, CLOSED)))


def _spent_micros(broken: Broken, key: str, since: float = -math.inf) -> float:
    """Add up what the ledger has of a key, from calls that were sent since."""
    calls = [call for call in of_keys(broken.watch.calls.values(), key) if call.sent_at >= since]
    rows = (row for call in calls for row in broken.watch.usages.get(call.request_id, ()))
    return sum(row.number("cost_picos") for row in rows) / PICOS_PER_MICRO


def _beyond_micros(broken: Broken) -> float:
    """Give how much more than its limit a key has spent, all keys together."""
    return sum(max(0.0, _spent_micros(broken, key) - most) for key, most in LIMIT_MICROS.items())


def _rebuilt(broken: Broken) -> Iterator[Expected]:
    beyond = _beyond_micros(broken)
    spent = ", ".join(f"{name} {_spent_micros(broken, name):.0f} of {most}" for name, most in LIMIT_MICROS.items())
    flags = _are_uncounted(broken, of_keys(broken.watch.calls.values(), *LIMIT_MICROS))
    words = f"{spent} micro-dollars, {sum(flags)} rows of {len(flags)} uncounted"
    yield Expected("FR11", beyond == 0 and bool(flags) and not any(flags), words)
    yield from _goes_on(broken)


def _goes_on(broken: Broken) -> Iterator[Expected]:
    """Who had spent everything stays refused, and who had not goes on to its limit."""
    full = ended(of_keys(after_fault(broken, BACK_S), FULL))
    refused = told(full, "budget_exceeded")
    before = told(ended(of_keys(calls_of(broken, since_s=-1.0, until_s=0.0), FULL)), "budget_exceeded")
    went_on = _spent_micros(broken, HALF, broken.ended_at)
    words = (
        f"{share(len(refused), len(full))} calls of a key that has spent all are refused ({len(before)} before),"
        f" another one spends {went_on:.0f} more"
    )
    yield Expected("FR11", len(refused) == len(full) > 0 and bool(before) and went_on > 0, words)


async def _down_of(proxy: Proxy) -> None:
    await proxy.down()


MONEY_EXPERIMENTS = (
    Experiment(
        "redis-down-money",
        "Redis refuses every connection: dollars cannot be counted, answers not be kept",
        ("FR2", "FR3", "FR4"),
        faults.of_proxy(REDIS, "redis_away", _down_of),
        lambda broken: len(_while_down(broken, OPEN, CLOSED, CACHED)),
        _down,
        spans=Spans(before_s=4.0),
        settings=COUNTED,
        mix=Mix(placements={None: 0.5, CLOUD: 0.5}, again=frozenset({CACHED})),
        figure=Figure(
            "closed-is-closed",
            "calls of a key that must be counted which pass uncounted",
            _passed_uncounted,
            worse_min=20.0,
        ),
    ),
    Experiment(
        "redis-empty-money",
        "Redis is killed and comes back with nothing: what was spent is read from the ledger",
        ("FR11",),
        faults.redis_restarts_empty,
        lambda broken: len(of_keys(in_fault(broken), *LIMIT_MICROS)),
        _rebuilt,
        spans=Spans(before_s=5.0, fault_s=3.0, after_s=10.0),
        settings=SPENT,
        mix=Mix(placements={CLOUD: 1.0}, bounded=True),
        figure=Figure(
            "spending-read-first",
            "micro-dollars that keys spend beyond their limits",
            _beyond_micros,
            worse_min=500.0,
        ),
    ),
)
