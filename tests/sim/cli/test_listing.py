import json

import pytest

from sim.cli.listing import MEANINGS
from sim.faults.plan import KINDS
from sim.planted.bugs import PLANTED
from sim.scenarios.catalogue import ALL_SCENARIOS
from tests.sim.cli.shell import sim


@pytest.mark.parametrize(
    ("option", "column", "names"),
    [
        ((), "scenario", list(ALL_SCENARIOS)),
        (("--faults",), "fault", list(KINDS)),
        (("--bugs",), "bug", [bug.id for bug in PLANTED]),
    ],
)
def test_each_list_names_everything(option: tuple[str, ...], column: str, names: list[str]) -> None:
    rows = json.loads(sim("list", *option, "--json").stdout)
    assert [row[column] for row in rows] == names


@pytest.mark.parametrize("option", [(), ("--faults",), ("--bugs",)])
def test_each_list_is_a_table_for_people(option: tuple[str, ...]) -> None:
    done = sim("list", *option)
    assert (done.exit_code, len(done.stdout.splitlines()) > 2) == (0, True)


def test_every_kind_of_fault_has_its_meaning() -> None:
    assert MEANINGS.keys() == KINDS.keys()


def test_two_lists_at_once_are_wrong_usage() -> None:
    assert sim("list", "--faults", "--bugs").exit_code == 2
