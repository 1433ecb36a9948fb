import json

from click.testing import CliRunner

from ktms.app.cli.root import ktms
from ktms.app.release import release


def test_the_installed_release_is_printed() -> None:
    assert CliRunner().invoke(ktms, ["version"]).stdout == f"ktms {release()}\n"


def test_the_installed_release_is_printed_as_json() -> None:
    assert json.loads(CliRunner().invoke(ktms, ["version", "--json"]).stdout) == {"version": release()}
