import pytest
from click.testing import CliRunner

from ktms.app.cli.root import ktms


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_completes_our_command(shell: str) -> None:
    result = CliRunner().invoke(ktms, ["completion", shell])
    assert result.exit_code == 0
    assert "_KTMS_COMPLETE" in result.stdout


def test_another_shell_is_wrong_usage() -> None:
    assert CliRunner().invoke(ktms, ["completion", "tcsh"]).exit_code == 2


def test_the_script_is_answered_with_the_commands() -> None:
    env = {"_KTMS_COMPLETE": "bash_complete", "COMP_WORDS": "ktms ex", "COMP_CWORD": "1"}
    result = CliRunner().invoke(ktms, [], prog_name="ktms", env=env)
    assert result.stdout.split() == ["plain,export"]
