"""`ktms-node`: the agent of this machine and all that its owner does with it.

Not here: what each command does (`commands/`).
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ktms.node.commands import doctor, install, run, status, verify
from ktms.node.release import release


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its line in the overview, its options, what it does; gives an exit code."""

    summary: str
    add: Callable[[argparse.ArgumentParser], None]
    main: Callable[[argparse.Namespace], int]


COMMANDS: Mapping[str, Command] = {
    "run": Command("serve this machine's models to the gateway, until told to stop", run.add, run.main),
    "status": Command("show what the running agent knows", status.add, status.main),
    "doctor": Command("say why this node does not serve, and what mends it", doctor.add, doctor.main),
    "verify": Command("have the gateway call this node once", verify.add, verify.main),
    "install": Command("change how this machine is a node", install.add, install.install),
    "uninstall": Command(
        "remove the node of this machine, and all that came with it", install.add, install.uninstall
    ),
}


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    made = argparse.ArgumentParser(
        prog="ktms-node",
        description="Makes this machine a node of a KTMS gateway.",
        epilog="When something does not work: ktms-node doctor",
    )
    made.add_argument("--version", action="version", version=f"ktms-node {release()}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.add(commands.add_parser(name, help=command.summary, description=command.summary))
    return made


def main(words: Sequence[str] | None = None) -> None:
    """Run a command, and end with its exit code."""
    options = parser().parse_args(words)
    sys.exit(COMMANDS[options.command].main(options))
