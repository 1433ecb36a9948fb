import json

import pytest

from sim.registry.failures import FAILURES
from sim.registry.scripts import SCRIPTS
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import sim

Table = dict[str, list[dict[str, object]]]

FEW = ("coverage", "--seeds", "1", "--explorer-seeds", "1")


@pytest.fixture(scope="module")
def told() -> Table:
    table: Table = json.loads(sim(*FEW, "--json").stdout)
    return table


def test_every_id_has_its_row(told: Table) -> None:
    assert [row["id"] for row in told["rows"]] == [*FAILURES, *SCRIPTS]


def test_every_scenario_is_run() -> None:
    assert json.loads(sim(*FEW, "--json").stdout)["worlds"] == len(SCENARIOS)


def test_gaps_and_failures_end_with_one() -> None:
    done = sim(*FEW)
    found = "gap: " in done.stdout or "KTMS_SIM=" in done.stdout
    assert done.exit_code == (1 if found else 0)


def test_a_cell_that_is_proven_names_its_scenarios(told: Table) -> None:
    cells = [row["scenario"] for row in told["rows"]]
    proven = [cell for cell in cells if isinstance(cell, dict) and cell["state"] == "proven"]
    assert [cell for cell in proven if not set(cell["by"]) <= SCENARIOS.keys()] == []
