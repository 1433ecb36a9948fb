from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ktms.app.cli.root import ktms


def run(*args: str, **environment: str | None) -> Result:
    return CliRunner().invoke(ktms, args, env=environment)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("up", "--port", "0"), "0 is not in the range 1<=x<=65535"),
        (("up", "--port", "http"), "'http' is not a valid integer range"),
        (("serve", "--workers", "0"), "0 is not in the range 1<=x<=25"),
        (("serve", "now"), "Got unexpected extra argument (now)"),
    ],
)
def test_a_wrong_option_is_wrong_usage(args: tuple[str, ...], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.parametrize("command", ["up", "serve"])
def test_a_wrong_setting_refuses_the_start_with_one_line(command: str, tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    result = run(command, KTMS_DRAIN_DELAY_S="abc", **home)
    assert result.exit_code == 1
    assert result.stderr == "ktms: KTMS_DRAIN_DELAY_S: expected seconds between 0 and 300, got 'abc'\n"
