"""A shell in front of `ktms-sim`: runs commands in this process."""

from click.testing import CliRunner, Result

from sim.cli.root import main
from sim.edit import Edit

EMPTY = Edit(faults=(), calls=()).word()
"""The plan of a world in which nothing happens, and so nothing goes wrong."""


def sim(*words: str) -> Result:
    return CliRunner().invoke(main, words, prog_name="ktms-sim")
