"""The simulator is awake: every planted bug is found within its budget, and none is left in the program."""

import inspect

import pytest

from ktms.engine.waiting import Queues
from sim.outcome import Outcome
from sim.planted.bug import Bug, BugUnfit, planted
from sim.planted.bugs import PLANTED
from sim.planted.hunt import hunt
from sim.run import run
from sim.scenarios.catalogue import SCENARIOS

NAMES = [bug.id for bug in PLANTED]


def outcome(scenario: str, seed: int) -> Outcome:
    return run(SCENARIOS[scenario], seed).outcome


@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", PLANTED, ids=NAMES)
def test_every_bug_is_found_within_its_budget(bug: Bug) -> None:
    catch = hunt(bug, outcome, start=1)
    assert catch is not None, f"{bug.title}: not found in {bug.seeds_max} seeds"
    assert catch.code != "broken", catch.outcome.broken
    sound = run(SCENARIOS[bug.scenario], catch.outcome.seed).outcome
    assert sound.ok, "the seed that found it is clean without it"


def test_there_are_enough_of_them_and_no_name_twice() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 12


def test_a_bug_whose_place_has_changed_is_an_error() -> None:
    moved = Bug("moved", "its text is not there", outcome, "no such text", "", "explore-ports")
    with pytest.raises(BugUnfit), planted(moved):
        pass


def test_a_bug_is_out_again_after_the_block() -> None:
    bug = PLANTED[0]
    assert not isinstance(bug.place, property)
    before = bug.place.__code__
    with planted(bug):
        assert bug.place.__code__ is not before
    assert bug.place.__code__ is before


def test_a_decorated_place_keeps_its_decorators() -> None:
    bug = next(bug for bug in PLANTED if bug.id == "place-in-line-leaks")
    with planted(bug):
        assert inspect.unwrap(Queues.joined).__code__.co_filename == "<planted place-in-line-leaks>"
        assert Queues.joined.__code__.co_filename != "<planted place-in-line-leaks>"
