import json

from sim.run import run
from sim.scenarios.catalogue import SCENARIOS
from tests.sim.cli.shell import sim


def test_a_world_that_repeats_is_alike() -> None:
    done = sim("diverge", "--seed", "1")
    assert (done.exit_code, done.stdout) == (0, f"alike: {run(SCENARIOS['explore'], 1).outcome.hash}\n")


def test_programs_are_told_both_hashes() -> None:
    row = json.loads(sim("diverge", "--seed", "1", "--json").stdout)
    assert (row["alike"], len(set(row["hashes"]))) == (True, 1)


def test_an_unknown_scenario_is_bad_input() -> None:
    assert sim("diverge", "--seed", "1", "--scenario", "zzz").exit_code == 2
