"""What stands for an id, by what scenarios and experiments declare."""

import pytest

from sim.registry.experiments import EXPERIMENTS
from sim.registry.failures import FAILURES
from sim.registry.proofs import Proof, Standing, proof_of


@pytest.mark.parametrize(
    ("name", "scenarios", "experiments", "standing"),
    [
        ("FR1", ("a",), ("b",), Standing.TWICE),
        ("FR1", ("a",), (), Standing.MISSING),
        ("FR1", (), ("b",), Standing.MISSING),
        ("FG5", ("a",), (), Standing.ONCE),
        ("FG5", (), (), Standing.MISSING),
        ("FG10", (), ("b",), Standing.ONCE),
        ("FG10", (), (), Standing.MISSING),
        ("FG4", (), (), Standing.LATER),
        ("FG9", ("a",), ("b",), Standing.TWICE),
    ],
)
def test_the_standing_of_an_id_says_what_it_lacks_and_when_that_is_due(
    name: str, scenarios: tuple[str, ...], experiments: tuple[str, ...], standing: Standing
) -> None:
    assert Proof(FAILURES[name], scenarios, experiments).standing is standing


def test_scenarios_and_experiments_are_found_by_the_ids_that_they_prove() -> None:
    proof = proof_of(FAILURES["FR11"], {"one": ("FR1", "FR11"), "two": ("FR1",), "three": ("FR11",)})
    assert proof.scenarios == ("one", "three")
    assert proof.experiments == tuple(name for name, ids in EXPERIMENTS.items() if "FR11" in ids) != ()


def test_experiments_name_ids_of_the_matrix_alone() -> None:
    assert {each for ids in EXPERIMENTS.values() for each in ids} - FAILURES.keys() == set()
