"""What a vendor's breaker must have done, read from the targets' own facts and from gauges; a part of I12.

Rules: only what is certain counts. Five definite failures in a row, seen by the target, with no other answer near
them, open the breaker of that gateway; so does a gauge that says so. While it is open nobody is asked, then one
trial at a time. Late facts, frozen gateways, restarts and newer snapshots (a breaker belongs to an address)
excuse. Not here: whether a gauge may move as it does (I9), machines of ours, which have none (`nodes.py`).
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sim.checkers.violation import Violation
from sim.journal.calls import Exchange
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch

CODE = "I12"

FAILURES_MAX = 5
"""Consecutive failures that open a breaker (FV5)."""

OPEN_S = 30.0
"""How long it refuses before one trial (FV6)."""

ON_ITS_WAY_S = 2.0
"""A request that was let through just before may be seen by its target this much later."""

SAME_S = 0.001
"""A trial begins with the pass that its gauge tells of, scheduling noise aside."""

TRIAL_TOLD_S = 1.0
"""The end of a trial, or its first word, moves the breaker within this."""

CLOSED, HALF_OPEN, OPEN = 0, 1, 2

Between = tuple[str, str]
"""Gateway and target."""

COUNTS = frozenset({"failed", "interrupted"})
NEVER_COUNTS = frozenset({"ok", "refused"})


@dataclass(frozen=True, slots=True)
class _Shut:
    """A time in which a gateway must ask nobody there, and why."""

    start: float
    end: float
    why: str


def name_of(label: str) -> str:
    """Give the target that a breaker's label stands for: nodes are `local/…`."""
    return label.removeprefix("local/")


def check_breakers(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Find targets that were asked while their breaker was open, stampedes of trials, and needless openings."""
    asked: dict[Between, list[Exchange]] = defaultdict(list)
    for exchange in watch.exchanges:
        if exchange.asked.has("cloud"):
            asked[exchange.gateway, exchange.target].append(exchange)
    told = _gauges(journal)
    settled: dict[Between, list[Fact]] = defaultdict(list)
    for fact in journal.of("usage"):
        if "duration_s" in fact.members:
            settled[fact.host, name_of(fact.text("target"))].append(fact)
    for between, exchanges in asked.items():
        yield from _nobody_asked(watch, exchanges, _after_failures(watch, exchanges, told.get(between, [])))
    for between, gauges in told.items():
        exchanges = asked.get(between, [])
        yield from _nobody_asked(watch, exchanges, _while_open(gauges))
        yield from _one_trial(watch, exchanges, gauges)
        yield from _trials_end(watch, between, gauges, settled.get(between, []))
    yield from _opened_for_a_reason(watch, journal)


def _gauges(journal: Journal) -> dict[Between, list[Fact]]:
    found: dict[Between, list[Fact]] = defaultdict(list)
    for fact in journal.of("gauge"):
        if fact.members["name"] == "breaker_state":
            found[fact.host, name_of(fact.text("label"))].append(fact)
    return found


def _after_failures(watch: Watch, exchanges: list[Exchange], gauges: list[Fact]) -> Iterator[_Shut]:
    """Find five definite failures in a row, in the order in which they ended.

    The breaker let each of them pass, so it opened after the last of them was asked, and by the end of the last. A
    trial ends with its first word and others say nothing meanwhile, so a row around a trial proves nothing.
    """
    trials = [fact.at for fact in gauges if fact.number("value") != OPEN]
    ended = sorted((one for one in exchanges if one.told is not None), key=lambda one: one.told_at)
    failed = [_surely_failed(watch, one) for one in ended]
    for last in range(FAILURES_MAX - 1, len(ended)):
        if not all(failed[last + 1 - FAILURES_MAX : last + 1]):
            continue
        row = ended[last + 1 - FAILURES_MAX : last + 1]
        begun_at, end_at = row[0].told_at - ON_ITS_WAY_S, row[-1].told_at + ON_ITS_WAY_S
        sure = all(fails for one, fails in zip(ended, failed, strict=True) if begun_at <= one.told_at <= end_at)
        first_at, asked_at = min(one.asked.at for one in row), max(one.asked.at for one in row)
        sure = sure and not any(first_at - ON_ITS_WAY_S <= at <= end_at for at in trials)
        if sure and not _changed(watch, row[-1], begun_at, end_at):
            why = f"it had failed {FAILURES_MAX} times in a row at {row[-1].told_at:.3f} s"
            yield _Shut(end_at, asked_at - ON_ITS_WAY_S + OPEN_S * 0.99, why)


def _surely_failed(watch: Watch, exchange: Exchange) -> bool:
    """Tell whether the gateway must have counted it: an answer of 5xx, or a stream cut before its end.

    A 503 may be a rest with `Retry-After`; a client that left says nothing; nobody knows what was lost on the way.
    """
    call = watch.call(exchange.call)
    if call.left is not None or call.takes_its_time or not call.ends or exchange.late or exchange.repeated:
        return False
    host = watch.host(exchange.gateway)
    if host.disturbed(exchange.asked.at, exchange.told_at + ON_ITS_WAY_S):
        return False
    if watch.stormy(exchange.target, exchange.asked.at, exchange.told_at + ON_ITS_WAY_S):
        return False
    if exchange.how == "whole":
        return 500 <= exchange.status < 600 and exchange.status != 503
    return exchange.how == "cut" and not exchange.says("finished") and exchange.status in (0, 200)


def _changed(watch: Watch, exchange: Exchange, since: float, until: float) -> bool:
    return watch.host(exchange.gateway).changed(since, until) or watch.swapped(exchange.gateway, since, until)


def _while_open(gauges: list[Fact]) -> Iterator[_Shut]:
    for at, fact in enumerate(gauges):
        if fact.number("value") != OPEN:
            continue
        until = fact.at + OPEN_S * 0.99
        if at + 1 < len(gauges):
            until = min(until, gauges[at + 1].at)
        yield _Shut(fact.at + ON_ITS_WAY_S, until, f"{fact.host} said at {fact.at:.3f} s that its breaker is open")


def _nobody_asked(watch: Watch, exchanges: list[Exchange], shut: Iterable[_Shut]) -> Iterator[Violation]:
    for closed in shut:
        for exchange in exchanges:
            at = exchange.asked.at
            if not closed.start < at < closed.end or exchange.late or exchange.is_repeat:
                continue
            if not _changed(watch, exchange, closed.start - ON_ITS_WAY_S, at):
                what = f"{exchange.gateway} asked {exchange.target} (exchange {exchange.number}), {closed.why}"
                yield Violation(CODE, at, what, exchange.call)


def _one_trial(watch: Watch, exchanges: list[Exchange], gauges: list[Fact]) -> Iterator[Violation]:
    for at, fact in enumerate(gauges):
        if fact.number("value") != HALF_OPEN:
            continue
        until = gauges[at + 1].at if at + 1 < len(gauges) else math.inf
        trials = [one for one in exchanges if fact.at <= one.asked.at < until and not (one.is_repeat or one.late)]
        if len(trials) > 1 and not _changed(watch, trials[1], fact.at, trials[1].asked.at):
            what = (
                f"{fact.host} asked {trials[1].target} {len(trials)} times while its breaker was half open"
                f" since {fact.at:.3f} s"
            )
            yield Violation(CODE, trials[1].asked.at, what, trials[1].call)


def _trials_end(watch: Watch, between: Between, gauges: list[Fact], settled: list[Fact]) -> Iterator[Violation]:
    """Find breakers that stay half open although their trial has spoken, or is over: they refuse for minutes.

    The trial is the attempt that began when the gauge moved.
    """
    host = watch.host(between[0])
    for at, fact in enumerate(gauges):
        if fact.number("value") != HALF_OPEN:
            continue
        until = gauges[at + 1].at if at + 1 < len(gauges) else watch.ends_at
        for usage in settled:
            began_at = usage.at - usage.number("duration_s")
            first_s = usage.members.get("first_token_s")
            over_at = usage.at if not isinstance(first_s, int | float) else began_at + first_s
            if abs(began_at - fact.at) > SAME_S or until <= over_at + TRIAL_TOLD_S or host.doubled(fact.at):
                continue
            if not host.changed(fact.at, over_at + TRIAL_TOLD_S) and not host.stood_still_s(fact.at, until):
                what = (
                    f"{fact.host} left the breaker of {between[1]} half open, whose trial had spoken or ended at"
                    f" {over_at:.3f} s"
                )
                yield Violation(CODE, over_at, what)


def _opened_for_a_reason(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Hold each opening of a closed breaker against the settled attempts before it, in the journal's own order.

    A crashed process may still speak when its world is cleared away, long after its successor has stopped too.
    """
    rows: dict[Between, int] = defaultdict(int)
    states: dict[Between, int] = {}
    for fact in journal.of("usage", "gauge", "host_up"):
        if fact.kind == "usage":
            _count(rows, (fact.host, name_of(fact.text("target"))), fact)
        elif fact.kind == "host_up":
            for between in [between for between in (*rows, *states) if between[0] == fact.host]:
                rows.pop(between, None)
                states.pop(between, None)
        elif fact.members["name"] == "breaker_state":
            between = (fact.host, name_of(fact.text("label")))
            before = states.get(between, CLOSED)
            states[between] = int(fact.number("value"))
            opened = before == CLOSED and states[between] == OPEN
            host = watch.host(fact.host)
            speaks_for_itself = not host.doubled(fact.at) and not host.down(fact.at, fact.at)
            if opened and rows[between] < FAILURES_MAX and speaks_for_itself:
                what = f"{fact.host} opened the breaker of {between[1]} after {rows[between]} failures in a row"
                yield Violation(CODE, fact.at, what)


def _count(rows: dict[Between, int], between: Between, usage: Fact) -> None:
    status = usage.members["status"]
    http_status = usage.members.get("http_status")
    is_answer = isinstance(http_status, int | float) and 300 <= http_status < 500
    if status in COUNTS and not is_answer:
        rows[between] += 1
    elif status in NEVER_COUNTS or status in COUNTS:
        rows[between] = 0
