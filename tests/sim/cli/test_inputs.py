import pytest

from sim.cli.inputs import BadInput, line_given, scenario_called
from sim.commit import commit_here


def test_a_scenario_is_found_by_its_id() -> None:
    assert scenario_called("explore-ports").id == "explore-ports"


def test_a_scenario_is_found_whatever_letters_are_capitals() -> None:
    assert scenario_called("Explore-Ports").id == "explore-ports"


def test_near_names_are_offered() -> None:
    with pytest.raises(BadInput, match="did you mean explore"):
        scenario_called("explor")


def test_a_line_gives_its_scenario_with_it() -> None:
    line, scenario = line_given(
        (f"KTMS_SIM={commit_here()}", "seed=1 scenario=explore-ports plan=- hash=-"), anyway=False
    )
    assert (line.seed, scenario.id) == (1, "explore-ports")
