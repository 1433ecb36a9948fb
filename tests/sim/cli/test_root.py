import subprocess
import sys

import pytest

from sim.cli.root import COMMANDS, main
from tests.sim.cli.shell import sim

SHOWN = [command.name or "" for command in COMMANDS if not command.hidden]


@pytest.mark.parametrize("name", SHOWN)
def test_every_command_teaches_with_an_example(name: str) -> None:
    done = sim(name, "--help")
    assert (done.exit_code, "Example:\n" in done.stdout, f"ktms-sim {name}" in done.stdout) == (0, True, True)


def test_commands_are_listed_as_they_are_needed() -> None:
    lines = sim("--help").stdout.splitlines()
    listed = [line.split()[0] for line in lines[lines.index("Commands:") + 1 :] if line.startswith("  ")]
    assert listed[: len(SHOWN)] == SHOWN


def test_an_unknown_command_is_wrong_usage() -> None:
    assert sim("rnu").exit_code == 2


def test_every_command_is_of_the_group() -> None:
    assert list(main.commands.values()) == list(COMMANDS)


def test_the_module_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sim", "run", "--seed", "x"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.startswith("ktms-sim: 'x' is no seed")) == (2, True), done.stderr
