import pytest

from sim.commit import commit_here
from sim.edit import NO_EDIT, Edit, read_edit
from sim.outcome import Outcome
from sim.outcome_row import first_code
from sim.planted.bug import planted
from sim.planted.bugs import PLANTED
from sim.planted.hunt import hunt
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS
from sim.seed import Seed
from sim.shrink import shrink
from tests.sim.cli.shell import EMPTY, sim

BUG = next(bug for bug in PLANTED if bug.id == "cloud-though-nodes-only")


def ran(scenario: str, seed: int, edit: Edit = NO_EDIT) -> Outcome:
    return run(SCENARIOS[scenario], seed, edit).outcome


def test_the_world_of_a_bug_becomes_one_call_without_faults() -> None:
    found = hunt(BUG, ran)
    assert found is not None
    seed, code = found.outcome.seed, first_code(found.outcome)
    drawn = SCENARIOS[BUG.scenario].draft(Seed(seed).child(BUG.scenario))
    with planted(BUG):
        small = shrink(
            drawn, NO_EDIT, lambda edit: first_code(ran(BUG.scenario, seed, edit)) == code, attempts_max=300
        )
    assert small.edit.faults == ()
    assert small.edit.calls is not None
    assert (len(small.edit.calls), small.whole) == (1, True)


def test_a_world_that_does_not_fail_cannot_be_made_smaller() -> None:
    done = sim("shrink", ran("explore-ports", 1, read_edit(EMPTY)).line(commit_here()))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "does not fail here" in done.stderr


@pytest.mark.parametrize("words", [("shrink",), ("shrink", "--tries", "0", "x")])
def test_wrong_usage_ends_with_two(words: tuple[str, ...]) -> None:
    assert sim(*words).exit_code == 2
