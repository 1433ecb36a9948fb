"""FL6 and FL7: a gateway is killed, or shuts down, while usage events wait."""

import math
from collections.abc import Iterator

from sim.draft import Draft, Knobs
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.books.outage import at
from sim.scenarios.ledger.reading import Accounts, Recorded
from sim.scenarios.ledger.worlds import world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed

FLUSH_MAX_S = 2.5
"""After the last word of its calls a gateway has two seconds for its books."""


def _killed(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    away = Fault("ledger_away", "", at(chance, 5.0, 8.0), at(chance, 15.0, 40.0))
    kill_s = away.at_s + away.lasts_s * at(chance, 0.4, 0.9)
    crash = Fault("crash", "gw1", round(kill_s, 3), at(chance, 1.0, 8.0))
    return world_of(chance, [away, crash], busy=chance.between(10, 25), spool=True)


def _unsent(accounts: Accounts, host: str, moment: float) -> list[Recorded]:
    """Give the events of a gateway that waited at a moment."""
    return [event for event in accounts.recorded if event.host == host and event.at <= moment < event.kept_at]


def _crashes(accounts: Accounts) -> list[tuple[str, float]]:
    return [(fact.host, fact.at) for fact in accounts.journal.of("host_crashed")]


def _active_killed(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    if any(_unsent(accounts, host, moment) for host, moment in _crashes(accounts)):
        yield "FL6"


def _seen_killed(journal: Journal) -> Iterator[str]:
    """Look for events that waited when their process was killed, and came to the ledger from its successor."""
    accounts = Accounts(journal)
    waited = [event for host, moment in _crashes(accounts) for event in _unsent(accounts, host, moment)]
    came = all(event.kept_at < math.inf for event in waited)
    if waited and came and accounts.all_kept() and accounts.one_row_each():
        yield "FL6"


def _leaves(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    slow = Fault("ledger_slow", "", at(chance, 3.0, 5.0), at(chance, 25.0, 40.0), at(chance, 0.3, 0.8))
    knobs = Knobs(drain_delay_s=at(chance, 0.0, 2.0), shutdown_s=at(chance, 1.0, 4.0))
    told_s = at(chance, 9.0, 14.0)
    leave = Fault("sigterm", "gw1", told_s, at(chance, 8.0, 12.0))
    return world_of(chance, [slow, leave], busy=chance.between(60, 120), knobs=knobs)


def _leavings(accounts: Accounts) -> list[tuple[str, float, float]]:
    """Give who was told to leave by a fault, when its calls were over at the latest, and when it was gone."""
    told = {
        (fact.text("target"), fact.at)
        for fact in accounts.journal.of("fault")
        if fact.members["fault"] == "sigterm" and fact.has("on")
    }
    grace_s = accounts.watch.number("drain_delay_s", 5.0) + accounts.watch.number("shutdown_s", 30.0)
    return [
        (host, moment + grace_s, fact.at)
        for host, moment in sorted(told)
        for fact in accounts.journal.of("host_stopped")
        if fact.host == host and fact.at >= moment
    ][: len(told)]


def _active_leaving(journal: Journal) -> Iterator[str]:
    """Look for a replica that left while some of its events waited."""
    accounts = Accounts(journal)
    if any(_waited(accounts, host, gone_at) for host, _, gone_at in _leavings(accounts)):
        yield "FL7"


def _waited(accounts: Accounts, host: str, gone_at: float) -> list[Recorded]:
    """Give the events of a gateway that it still had when it was told to leave, or that came after that."""
    begun = [fact.at for fact in accounts.journal.of("drain_begun") if fact.host == host and fact.at < gone_at]
    return [
        event
        for event in accounts.recorded
        if event.host == host and event.at <= gone_at and event.kept_at > begun[-1]
    ]


def _seen_leaving(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    leavings = _leavings(accounts)
    sent = all(
        event.kept_at <= gone_at for host, _, gone_at in leavings for event in _waited(accounts, host, gone_at)
    )
    in_time = all(gone_at <= over_at + FLUSH_MAX_S for _, over_at, gone_at in leavings)
    if leavings and sent and in_time and not accounts.dropped and accounts.all_kept():
        yield "FL7"


LEAVER_SCENARIOS = (
    Scenario(
        "fl6-killed",
        "a gateway is killed with events on disk",
        ("FL6",),
        _killed,
        _seen_killed,
        _active_killed,
    ),
    Scenario(
        "fl7-leaves",
        "a gateway shuts down with events to send",
        ("FL7",),
        _leaves,
        _seen_leaving,
        _active_leaving,
    ),
)
