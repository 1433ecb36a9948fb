"""The scenario printed in docs/simulation.md does what the text says, as it is printed."""

import re
from dataclasses import replace
from pathlib import Path

from sim.edit import Edit
from sim.run import run
from sim.scenarios.scenario import Scenario

PAGE = Path(__file__).parents[2] / "docs/simulation.md"


def printed() -> Scenario:
    (text,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(text, PAGE.name, "exec"), names)  # noqa: S102 - the text that a newcomer copies
    mine = names["MINE"]
    assert isinstance(mine, tuple)
    assert isinstance(mine[0], Scenario)
    return mine[0]


def test_the_printed_scenario_passes() -> None:
    for seed in range(1, 6):
        outcome = run(printed(), seed).outcome
        assert (outcome.ok, outcome.seen) == (True, ("FV1",)), outcome


def test_the_printed_scenario_shows_nothing_without_its_fault() -> None:
    outcome = run(replace(printed(), proves=()), 1, Edit(faults=())).outcome
    assert (outcome.ok, outcome.seen) == (True, ())


def test_every_command_of_the_page_exists() -> None:
    named = set(re.findall(r"python -m sim ([a-z]+)", PAGE.read_text(encoding="utf-8")))
    assert named <= {
        "run",
        "swarm",
        "list",
        "replay",
        "shrink",
        "diverge",
        "coverage",
        "hunt",
        "bench",
        "failures",
    }
