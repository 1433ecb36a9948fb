"""FL5, S22 and S23: batches come again, out of order, or their answer is lost; each event has one row."""

from collections.abc import Iterator

from sim.checkers.i14_ledger import ids_of
from sim.draft import Draft
from sim.faults.plan import Fault
from sim.journal.journal import Journal
from sim.scenarios.books.outage import at
from sim.scenarios.ledger.reading import Accounts
from sim.scenarios.ledger.worlds import world_of
from sim.scenarios.scenario import Scenario
from sim.seed import Seed


def _forgets(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    fault = Fault("ledger_forgetful", "", at(chance, 4.0, 8.0), at(chance, 5.0, 20.0))
    return world_of(chance, [fault], busy=chance.between(5, 15))


def _seen_forgetting(journal: Journal) -> Iterator[str]:
    """Look for batches that were stored, sent again because nobody heard of it, and stored no second time."""
    accounts = Accounts(journal)
    again = [fact for fact in accounts.kept if fact.number("fresh") < len(ids_of(fact))]
    spans = accounts.faults("ledger_forgetful")
    heard = all(accounts.sends_failed(span) for span in spans)
    if spans and heard and again and accounts.all_kept() and accounts.one_row_each():
        yield "FL5"


def _repeats(seed: Seed) -> Draft:
    chance = seed.chance("draft")
    fault = Fault("ledger_repeating", "", at(chance, 2.0, 5.0), at(chance, 20.0, 40.0))
    return world_of(chance, [fault], busy=chance.between(10, 20))


def _seen_repeating(journal: Journal) -> Iterator[str]:
    accounts = Accounts(journal)
    rows = 0.0
    for fact in accounts.kept:
        if fact.has("again") and fact.number("rows") != rows:
            return
        rows = fact.number("rows")
    if any(fact.has("again") for fact in accounts.kept) and accounts.all_kept() and accounts.one_row_each():
        yield "S22"


def _seen_reordering(journal: Journal) -> Iterator[str]:
    """Look for a batch that came behind events which were recorded after its own."""
    accounts = Accounts(journal)
    recorded_at = {event.name: event.at for event in accounts.recorded}
    newest, late = 0.0, False
    for fact in accounts.kept:
        times = [recorded_at[name] for name in ids_of(fact)]
        late = late or (fact.has("again") and max(times) < newest) or times != sorted(times)
        newest = max(newest, *times)
    if late and accounts.all_kept() and accounts.one_row_each():
        yield "S23"


REPEAT_SCENARIOS = (
    Scenario("fl5-forgetful", "the ledger stores and its answer is lost", ("FL5",), _forgets, _seen_forgetting),
    Scenario("s22-twice", "every batch comes twice", ("S22",), _repeats, _seen_repeating),
    Scenario("s23-disorder", "batches come late and mixed", ("S23",), _repeats, _seen_reordering),
)
