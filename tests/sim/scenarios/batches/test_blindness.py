"""Each part of FP12 is taken out of a journal that had it; who looks for it must not find it any more."""

import pytest

from sim.journal.journal import Journal
from sim.run import run
from sim.scenarios.batches.failover import FAILOVER_SCENARIOS
from tests.sim.scenarios.altered import Change, altered, saying, without

(SCENARIO,) = FAILOVER_SCENARIOS

MISSING: dict[str, Change] = {
    "no change was under way": without("answer_lost"),
    "every lost change was made": saying("answer_lost", {}, took_effect=True),
    "whoever asked was told that it is made": saying("batch_asked", {"status": 503}, status=200),
    "a batch has lines of its own twice": saying("batch_over", {}, done="1 1"),
    "a batch is not whole": saying("batch_over", {}, errors="1"),
    "a batch was half made": saying("line_stored", {"line": 1}, batch="batch-of-nobody"),
    "a client has two batches": saying("batch_made", {"name": "1"}, batch="batch-of-another"),
    "calls failed": saying("call_ended", {"status": 200}, status=503, outcome="error"),
}


@pytest.fixture(scope="module")
def journal() -> Journal:
    return run(SCENARIO, 1).journal


@pytest.mark.parametrize("what", MISSING)
def test_what_is_missing_is_missed(journal: Journal, what: str) -> None:
    assert list(SCENARIO.seen(journal)) == ["FP12"]
    assert list(SCENARIO.seen(altered(journal, MISSING[what]))) == []
