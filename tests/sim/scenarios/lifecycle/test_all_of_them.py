import pytest

from sim.edit import Edit
from sim.run import run
from sim.scenarios.lifecycle.all_of_them import LIFECYCLE_SCENARIOS
from sim.scenarios.scenario import Scenario

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", LIFECYCLE_SCENARIOS, ids=lambda scenario: scenario.id)
def test_every_world_of_a_scenario_shows_its_behaviour_and_breaks_no_promise(
    scenario: Scenario, seed: int
) -> None:
    outcome = run(scenario, seed).outcome
    assert outcome.ok, outcome
    assert set(scenario.proves) <= set(outcome.seen)


@pytest.mark.parametrize("scenario", LIFECYCLE_SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_world_without_its_faults_and_calls_shows_nothing(scenario: Scenario) -> None:
    outcome = run(scenario, 1, Edit(faults=(), calls=())).outcome
    assert (outcome.broken, outcome.seen, outcome.active) == ("", (), ())


@pytest.mark.parametrize("name", ["fg1-sigterm", "fg2-sigterm-twice", "fg5-wall-clock", "s31-herd"])
def test_the_same_calls_without_faults_show_nothing(name: str) -> None:
    scenario = next(one for one in LIFECYCLE_SCENARIOS if one.id == name)
    outcome = run(scenario, 1, Edit(faults=())).outcome
    assert (outcome.broken, outcome.seen, outcome.active) == ("", (), ())
