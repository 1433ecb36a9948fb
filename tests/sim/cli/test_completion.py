import pytest
from click.testing import CliRunner

from sim.cli.root import main
from tests.sim.cli.shell import sim


def completed(words: str) -> list[str]:
    env = {"_KTMS_SIM_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    return CliRunner().invoke(main, [], prog_name="ktms-sim", env=env).stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_our_command(shell: str) -> None:
    done = sim("completion", shell)
    assert (done.exit_code, "_KTMS_SIM_COMPLETE" in done.stdout) == (0, True)


def test_another_shell_is_wrong_usage() -> None:
    assert sim("completion", "tcsh").exit_code == 2


def test_the_script_is_answered_with_the_commands() -> None:
    assert completed("ktms-sim sw") == ["plain,swarm"]


def test_scenarios_are_completed() -> None:
    assert "plain,explore-ports" in completed("ktms-sim run --scenario explore-p")
