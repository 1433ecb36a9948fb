"""Every scenario holds over several seeds, shows what it proves, and shows nothing where nothing happened."""

import pytest

from sim.edit import Edit
from sim.registry.failures import FAILURES
from sim.registry.scripts import SCRIPTS
from sim.run import drawn, run
from sim.scenarios.again.all_of_them import AGAIN_SCENARIOS
from sim.scenarios.batches.all_of_them import BATCH_SCENARIOS
from sim.scenarios.books.all_of_them import BOOK_SCENARIOS
from sim.scenarios.catalogue import SCENARIOS
from sim.scenarios.everything import EVERYTHING
from sim.scenarios.explore import EXPLORERS
from sim.scenarios.fleet.leases.all_of_them import LEASE_SCENARIOS
from sim.scenarios.fleet.nodes.all_of_them import NODE_SCENARIOS
from sim.scenarios.ledger.all_of_them import LEDGER_SCENARIOS
from sim.scenarios.lifecycle.all_of_them import LIFECYCLE_SCENARIOS
from sim.scenarios.limits.all_of_them import LIMIT_SCENARIOS
from sim.scenarios.overload.all_of_them import OVERLOAD_SCENARIOS
from sim.scenarios.redis.all_of_them import REDIS_SCENARIOS
from sim.scenarios.scenario import Scenario
from sim.scenarios.targets.all_of_them import TARGET_SCENARIOS

SEEDS = range(5)

ALSO_BY_CLIENTS = {"s34-same-word"}
"""Their script is what clients do as much as what breaks: without the faults the behaviour is there, rightly."""

PROVING = [scenario for scenario in SCENARIOS.values() if scenario.proves]


def named(scenario: Scenario) -> str:
    return scenario.id


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", PROVING, ids=named)
def test_every_world_shows_its_behaviour_and_breaks_no_promise(scenario: Scenario, seed: int) -> None:
    outcome = run(scenario, seed).outcome
    assert outcome.ok, outcome
    assert set(scenario.proves) <= set(outcome.seen) & set(outcome.active)


@pytest.mark.parametrize("scenario", PROVING, ids=named)
def test_a_world_in_which_nothing_happens_shows_nothing(scenario: Scenario) -> None:
    _, draft = drawn(scenario, 1)
    nothing = Edit(faults=()) if draft.faults else Edit(calls=())  # of some the script is what clients do
    if scenario.id in ALSO_BY_CLIENTS:
        nothing = Edit(faults=(), calls=())
    outcome = run(scenario, 1, nothing).outcome
    assert (outcome.broken, outcome.seen, outcome.active) == ("", (), ())


@pytest.mark.parametrize("scenario", PROVING, ids=named)
def test_what_it_proves_is_in_the_registry(scenario: Scenario) -> None:
    assert set(scenario.proves) <= {*FAILURES, *SCRIPTS}


def test_no_id_stands_for_two_scenarios() -> None:
    parts = (
        EXPLORERS,
        TARGET_SCENARIOS,
        BOOK_SCENARIOS,
        BATCH_SCENARIOS,
        AGAIN_SCENARIOS,
        LIFECYCLE_SCENARIOS,
        LEDGER_SCENARIOS,
        LIMIT_SCENARIOS,
        LEASE_SCENARIOS,
        NODE_SCENARIOS,
        REDIS_SCENARIOS,
        OVERLOAD_SCENARIOS,
        EVERYTHING,
    )
    assert len(SCENARIOS) == sum(map(len, parts))


def test_seeds_make_different_worlds() -> None:
    assert len({run(SCENARIOS["FV1"], seed).outcome.hash for seed in SEEDS}) == len(SEEDS)
