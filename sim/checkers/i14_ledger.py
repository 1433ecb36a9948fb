"""I14: every usage event is in the ledger exactly once, or it is counted as lost.

The books are kept as sets of ids. The ledger has nothing that nobody recorded, and as many rows as ids ever came.
What a gateway counts as dropped was recorded there, and so many its own counter tells. In the end nothing is
missing but what was counted, and what a process that was killed held in memory; where events wait on disk not even
that.
"""

from collections.abc import Iterator

from sim.checkers.violation import Violation
from sim.journal.fact import Fact
from sim.journal.journal import Journal
from sim.journal.watch import Watch, watch_of

CODE = "I14"
TITLE = "each usage event is in the ledger once, or counted as lost"


def check(journal: Journal) -> Iterator[Violation]:
    """Find events that are missing, doubled, or counted wrongly."""
    watch = watch_of(journal)
    recorded = {fact.text("event_id"): fact for fact in recorded_in(watch, journal)}
    kept: set[str] = set()
    for fact in journal.of("usage_kept"):
        kept.update(ids_of(fact))
        if fact.members["rows"] != len(kept):
            yield Violation(CODE, fact.at, f"the ledger has {fact.members['rows']} rows of {len(kept)} events")
    dropped = {name for fact in journal.of("usage_dropped") for name in ids_of(fact)}
    ever = {fact.text("event_id") for fact in journal.of("usage")}
    for name in sorted((kept | dropped) - ever):
        yield Violation(CODE, watch.ends_at, f"nobody recorded the usage event {name}")
    yield from _losses_are_counted(watch, journal)
    if "over" in watch.phases:
        yield from _nothing_is_missing(watch, recorded, kept | dropped)


def recorded_in(watch: Watch, journal: Journal) -> Iterator[Fact]:
    """Give the events that living processes recorded: what a dead one still holds is torn down with the world."""
    for fact in journal.of("usage"):
        if any(span.start <= fact.at <= span.end for span in watch.host(fact.host).up()):
            yield fact


def ids_of(fact: Fact) -> list[str]:
    """Give the ids of the events that a fact is about."""
    return fact.text("ids").split()


def _losses_are_counted(watch: Watch, journal: Journal) -> Iterator[Violation]:
    """Hold what each gateway counted against what it lost; a frozen or killed one may not have come to it."""
    lost: dict[str, int] = {}
    for fact in journal.of("usage_dropped"):
        lost[fact.host] = lost.get(fact.host, 0) + len(ids_of(fact))
    counted: dict[str, float] = {}
    for fact in journal.of("counted"):
        if fact.members["name"] == "usage_dropped":
            counted[fact.host] = counted.get(fact.host, 0) + fact.number("amount")
    for host in sorted(lost.keys() | counted.keys()):
        if lost.get(host, 0) != counted.get(host, 0) and not watch.host(host).crashed(0, watch.ends_at):
            what = f"{host} lost {lost.get(host, 0)} usage events and counted {counted.get(host, 0):.0f}"
            yield Violation(CODE, watch.ends_at, what)


def _nothing_is_missing(watch: Watch, recorded: dict[str, Fact], found: set[str]) -> Iterator[Violation]:
    on_disk = watch.number("spool", 0.0) > 0
    for name, fact in recorded.items():
        killed = not on_disk and watch.host(fact.host).crashed(fact.at, watch.ends_at)
        if name not in found and not killed:
            what = f"the usage event {name} of {fact.host} is neither in the ledger nor counted as lost"
            yield Violation(CODE, fact.at, what)
