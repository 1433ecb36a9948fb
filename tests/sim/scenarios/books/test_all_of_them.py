import pytest

from sim.edit import Edit
from sim.run import run
from sim.scenarios.books.all_of_them import BOOK_SCENARIOS
from sim.scenarios.scenario import Scenario

SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", BOOK_SCENARIOS, ids=lambda scenario: scenario.id)
def test_every_world_of_a_scenario_shows_its_behaviour_and_breaks_no_promise(
    scenario: Scenario, seed: int
) -> None:
    outcome = run(scenario, seed).outcome
    assert outcome.ok, outcome
    assert set(scenario.proves) <= set(outcome.seen)


@pytest.mark.parametrize("scenario", BOOK_SCENARIOS, ids=lambda scenario: scenario.id)
def test_a_world_without_its_faults_shows_nothing(scenario: Scenario) -> None:
    outcome = run(scenario, 1, Edit(faults=())).outcome
    assert (outcome.broken, outcome.seen, outcome.active) == ("", (), ())


def test_every_scenario_has_an_id_of_its_own() -> None:
    assert len({scenario.id for scenario in BOOK_SCENARIOS}) == len(BOOK_SCENARIOS)
