"""Owners of batches take turns, and what looks for it is not blind."""

import pytest

from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from sim.journal.journal import Journal
from sim.planted.bug import altered as with_text
from sim.run import run
from sim.scenarios.batches.turns import LONE, TURN_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, saying, without

(SCENARIO,) = TURN_SCENARIOS

MISSING: dict[str, Change] = {
    "nobody came later": without("batch_made", key=LONE),
    "a batch of the crowd is not whole": saying("batch_over", {"name": "1"}, errors="1"),
    "a batch has not ended": without("batch_over", name="1"),
    "nothing was examined": without("batch_examined"),
}


@pytest.fixture(scope="module")
def journal() -> Journal:
    return run(SCENARIO, 1).journal


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_missed(journal: Journal, what: str) -> None:
    assert list(SCENARIO.seen(journal)) == ["S41"]
    assert list(SCENARIO.seen(altered(journal, MISSING[what]))) == []


def test_examining_the_oldest_first_is_found() -> None:
    turns, oldest = "min(waiting, key=lambda one: turns[one.new.owner])", "waiting[0]"
    with with_text("oldest first", MemoryBatchUpkeep.examine, turns, oldest):
        outcome = run(SCENARIO, 1).outcome
    assert outcome.violations == ("S41 the behaviour was not seen",)
