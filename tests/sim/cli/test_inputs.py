import pytest

from sim.cli.inputs import BadInput, line_given, scenario_called
from sim.commit import commit_here


def test_a_scenario_is_found_by_its_id() -> None:
    assert scenario_called("explore").id == "explore"


def test_near_names_are_offered() -> None:
    with pytest.raises(BadInput, match="did you mean explore"):
        scenario_called("explor")


def test_a_line_gives_its_scenario_with_it() -> None:
    line, scenario = line_given((f"KTMS_SIM={commit_here()}", "seed=1 scenario=explore plan=-"), anyway=False)
    assert (line.seed, scenario.id) == (1, "explore")
