import argparse

from ktms.node.cli import COMMANDS, parser
from ktms.node.commands import install


def test_installing_and_removing_take_the_options_of_the_script() -> None:
    made = argparse.ArgumentParser()
    install.add(made)
    assert made.parse_args(["--model", "a", "--slots", "4"]).slots == "4"


def test_both_are_commands() -> None:
    assert COMMANDS["install"].main is install.install
    assert COMMANDS["uninstall"].main is install.uninstall
    assert parser().parse_args(["uninstall", "--yes"]).yes
