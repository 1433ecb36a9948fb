"""FL1 to FL4 and S24: the ledger is away, slow or hung; events wait, calls do not; back, it gets all of it."""

import math
from collections.abc import Iterator

from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.journal.spans import Span
from sim.scenarios.books.outage import at
from sim.scenarios.books.reading import BLINK_S
from sim.scenarios.ledger.reading import BACK_S, SEND_MAX_S, Accounts
from sim.scenarios.ledger.worlds import TAIL_S, world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Chance, Seed

LINGER_MAX_S = 1.0
"""What an event waits for company, and the step that sends it."""


def _away(chance: Chance, low_s: float, high_s: float) -> Fault:
    return Fault("ledger_away", "", at(chance, 5.0, 9.0), at(chance, low_s, high_s))


def _gathers(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    return world_of(chance, [_away(chance, 10.0, 60.0)], busy=chance.between(5, 15))


def _refuses(seed: Seed) -> Draft:
    """The ledger wants nothing, for longer than an operator takes to upgrade it."""
    chance = seed.chance("draft")
    fault = Fault("ledger_refusing", "", at(chance, 5.0, 9.0), at(chance, 70.0, 200.0))
    return world_of(chance, [fault], busy=chance.between(10, 30))


def _seen_gathering(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    outages = accounts.faults("ledger_away", "ledger_refusing")
    if outages and all(_is_felt(accounts, span) and _waits(accounts, span) for span in outages):
        yield "FL1"


def _is_felt(accounts: Accounts, span: Span) -> bool:
    return bool(accounts.sends_failed(span)) and accounts.nobody_waits(span)


def _waits(accounts: Accounts, span: Span) -> bool:
    """Whether events were recorded in the outage, none came to the ledger in it, and all did after it."""
    events = accounts.recorded_in(span)
    return bool(events) and all(span.end <= event.kept_at < math.inf for event in events)


def _overflows(seed: Seed, *, spool: bool) -> Draft:
    chance = seed.chance("draft")
    events_max = chance.between(3, 12)
    busy = events_max + chance.between(5, 15)
    return world_of(chance, [_away(chance, 20.0, 60.0)], busy=busy, spool=spool, events_max=events_max)


def _seen_dropping(journal: Journal) -> Iterator[str]:
    """Look for events that made room, each of them older than all that then waited on the same gateway."""
    accounts = Accounts(journal)
    if accounts.dropped and _oldest_went(accounts) and _nothing_else_is_missing(accounts) and _are_calm(accounts):
        yield "FL2"


def _oldest_went(accounts: Accounts) -> bool:
    lent = {name for fact in accounts.journal.of("usage_sent") for name in fact.text("ids").split()}
    for span in accounts.faults("ledger_away"):
        waited: dict[str, float] = {}
        for event in accounts.recorded_in(span):
            if event.name in accounts.dropped:
                if waited.get(event.host, 0.0) > 0.0:
                    return False
            elif event.name not in lent or event.kept_at > span.end + SEND_MAX_S:
                waited.setdefault(event.host, event.at)
    return True


def _nothing_else_is_missing(accounts: Accounts) -> bool:
    return all((event.kept_at < math.inf) != (event.name in accounts.dropped) for event in accounts.recorded)


def _are_calm(accounts: Accounts) -> bool:
    return all(accounts.nobody_waits(span) for span in accounts.faults("ledger_away"))


def _seen_spooling(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    most = int(accounts.watch.number("usage_events_max", 10_000))
    full = any(
        sum(event.host == host for event in accounts.recorded_in(span)) > most
        for span in accounts.faults("ledger_away")
        for host in accounts.books.hosts
    )
    if full and not accounts.dropped and accounts.all_kept() and _are_calm(accounts):
        yield "FL2"


def _hangs(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    kind, amount = chance.pick((("ledger_hung", 0.0), ("ledger_slow", at(chance, 5.5, 20.0))))
    fault = Fault(kind, "", at(chance, 5.0, 9.0), at(chance, 15.0, 60.0), amount)
    return world_of(chance, [fault], busy=chance.between(5, 15))


def _seen_hanging(journal: Journal) -> Iterator[str]:
    """Look for sends that were given up after their time, one after another, while calls did not notice."""
    accounts = Accounts(journal)
    spans = accounts.faults("ledger_hung", "ledger_slow")
    if spans and accounts.all_kept() and all(_is_bounded(accounts, span) for span in spans):
        yield "FL3"


def _is_bounded(accounts: Accounts, span: Span) -> bool:
    given_up = accounts.sends_failed(span, "timeout")
    for fact in given_up:
        began_at = max(
            (
                sent.at
                for sent in accounts.journal.of("usage_sent")
                if sent.host == fact.host and sent.at < fact.at
            ),
            default=-math.inf,
        )
        if not SEND_MAX_S - BLINK_S <= fact.at - began_at <= SEND_MAX_S + BLINK_S:
            return False
    return bool(given_up) and accounts.nobody_waits(span)


def _returns(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    first = _away(chance, 5.0, 25.0)
    again = Fault("ledger_away", "", first.ends_at_s + at(chance, 10.0, 20.0), at(chance, 5.0, 25.0))
    return world_of(chance, [first, again], busy=chance.between(8, 20))


def _seen_returning(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    spans = accounts.faults("ledger_away")
    drained = all(event.kept_at <= span.end + BACK_S for span in spans for event in accounts.recorded_in(span))
    near = [Span(span.start - LINGER_MAX_S, span.end) for span in spans]
    sound = [event for event in accounts.recorded if not any(span.start <= event.at < span.end for span in near)]
    at_once = all(event.kept_at <= event.at + BACK_S for event in sound)
    if spans and drained and at_once and accounts.in_order() and accounts.one_row_each():
        yield "FL4"


def _for_hours(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    spool = chance.happens(0.5)
    events_max = chance.between(10, 30)
    return world_of(
        chance, [_away(chance, 1200.0, 3600.0)], busy=events_max * 2, spool=spool, events_max=events_max
    )


def _seen_for_hours(journal: Journal) -> Iterator[str]:
    """Look for an outage of many times what fits: nothing lost in silence, nothing starved by the draining."""
    accounts = Accounts(journal)
    spans = accounts.faults("ledger_away")
    spooled = accounts.watch.number("spool", 0.0) > 0
    told = accounts.all_kept() if spooled else bool(accounts.dropped) and _nothing_else_is_missing(accounts)
    after = all(accounts.nobody_waits(Span(span.end, span.end + TAIL_S / 2)) for span in spans)
    if spans and told and after and _are_calm(accounts):
        yield "S24"


def _active_for_hours(journal: Journal) -> Iterator[str]:
    if any(span.end - span.start > 1000.0 for span in Accounts(journal).faults("ledger_away")):
        yield "S24"


OUTAGE_SCENARIOS = (
    Scenario(
        "fl1-away", "the ledger is down: events gather, calls do not wait", ("FL1",), _gathers, _seen_gathering
    ),
    Scenario(
        "fl1-refuses",
        "the ledger wants no event, for minutes: they gather all the same, and none is set aside",
        ("FL1",),
        _refuses,
        _seen_gathering,
    ),
    Scenario(
        "fl2-full",
        "memory is full: the oldest events are dropped and counted",
        ("FL2",),
        lambda seed: _overflows(seed, spool=False),
        _seen_dropping,
    ),
    Scenario(
        "fl2-spool",
        "memory would be full: with a spool folder nothing is lost",
        ("FL2",),
        lambda seed: _overflows(seed, spool=True),
        _seen_spooling,
    ),
    Scenario("fl3-hung", "the ledger hangs or is slow: a send has 5 s", ("FL3",), _hangs, _seen_hanging),
    Scenario("fl4-back", "the ledger is back and gets everything in order", ("FL4",), _returns, _seen_returning),
    Scenario(
        "s24-hours",
        "the ledger is away for very long",
        ("S24",),
        _for_hours,
        _seen_for_hours,
        _active_for_hours,
    ),
)
