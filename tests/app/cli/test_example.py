import click
from click.testing import CliRunner

from ktms.app.cli.example import example


def test_the_lines_of_an_example_stay_as_they_are_written() -> None:
    @click.command(epilog=example("# first", "ktms export > a.yaml", "ktms apply -f a.yaml"))
    def command() -> None:
        """Do something."""

    shown = CliRunner().invoke(command, ["--help"]).stdout
    assert shown.endswith("  Example:\n    # first\n    ktms export > a.yaml\n    ktms apply -f a.yaml\n")
