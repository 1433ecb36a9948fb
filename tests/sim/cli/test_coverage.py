import json
from dataclasses import replace
from pathlib import Path

import pytest

from sim.cli.coverage import DAY_S, EXPLORERS, everything
from sim.outcome import Outcome
from sim.registry.failures import FAILURES
from sim.registry.scripts import SCRIPTS
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import sim
from tests.sim.outcomes import SOUND

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


def test_a_chaos_file_that_cannot_be_read_ends_with_two_before_any_world(tmp_path: Path) -> None:
    done = sim("coverage", "--chaos", str(tmp_path / "none.json"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"ktms-sim: {tmp_path}/none.json cannot be read: No such file or directory\n"


def test_a_chaos_file_that_speaks_of_an_unknown_id_ends_with_two(tmp_path: Path) -> None:
    rows = [{"experiment": "mine", "shown": ["FX1"], "passed": True}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    done = sim("coverage", "--chaos", str(tmp_path / "rows.json"))
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "mine speaks of FX1, which no table has" in done.stderr


def test_without_a_chaos_file_its_cells_are_not_read_and_no_gap(told: Table) -> None:
    states = [cell["state"] for row in told["rows"] if isinstance(cell := row["chaos"], dict)]
    assert set(states) == {"not read", "not needed", "due later"}
    assert not [gap for gap in told["gaps"] if "chaos test" in str(gap)]


def drawn(seconds: float, *, well: bool = True) -> list[Outcome]:
    broken = "" if well else "a deadlock"
    return [replace(SOUND, scenario=name, simulated_s=seconds, broken=broken) for name in EXPLORERS]


def test_worlds_of_explorers_that_lasted_a_day_together_show_that_everything_was_met() -> None:
    runs = everything(drawn(DAY_S / len(EXPLORERS)))
    assert [(run.scenario, run.passed, tuple(run.seen)) for run in runs] == [
        (name, True, ("S40",)) for name in EXPLORERS
    ]


def test_less_than_a_day_of_them_shows_nothing() -> None:
    assert everything(drawn(DAY_S / len(EXPLORERS) - 1)) == []


def test_a_day_in_which_one_complained_proves_nothing() -> None:
    assert not any(run.passed for run in everything(drawn(DAY_S, well=False)))


def test_a_day_of_scenarios_with_a_script_is_no_day_of_everything() -> None:
    assert everything([replace(SOUND, scenario="FV1", simulated_s=DAY_S)]) == []
