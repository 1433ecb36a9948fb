"""An installation, or its removal, from the options to the exit code: asks, decides, shows, does.

Not here: each of these (`facts.py`, `plan.py`, `carry_out.py`).
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from ktms.node.install.actions import Note
from ktms.node.install.carry_out import Hands, carry_out
from ktms.node.install.facts import Facts, gather
from ktms.node.install.options import KEY_VARIABLE, Asked, asked_of
from ktms.node.install.plan import Plan, plan
from ktms.node.install.refused import Refused
from ktms.node.install.removal import removal
from ktms.node.this_machine import ThisMachine

EXIT_OK, EXIT_FAILED, EXIT_REFUSED = 0, 1, 2

WHEEL_VARIABLE = "KTMS_NODE_WHEEL"
"""Where `install.sh` has put the agent; without it only settings and services are changed."""

FORGOTTEN = (KEY_VARIABLE, WHEEL_VARIABLE, "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
"""The key is for nobody else; the rest is how `install.sh` runs this, and would lead the agent astray."""

TERMINAL = Path("/dev/tty")
"""Standard input is the script itself."""


def install(options: argparse.Namespace) -> int:
    """Make this machine a node, or change how it is one; gives the exit code."""
    return _run(options, is_removal=False)


def uninstall(options: argparse.Namespace) -> int:
    """Remove the node of this machine; gives the exit code."""
    return _run(options, is_removal=True)


def _run(options: argparse.Namespace, *, is_removal: bool) -> int:
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    machine = ThisMachine()
    try:
        asked = asked_of(options, machine.variables, machine.read)
        wheel = machine.variables.get(WHEEL_VARIABLE)
        for name in FORGOTTEN:
            os.environ.pop(name, None)  # noqa: TID251 - programs that are started must not have it
        facts = gather(machine, asked, Path(wheel) if wheel else None, base_python=_base_python())
        decided = removal(facts) if is_removal else plan(asked, facts)
        if decided.refusals:
            for refusal in decided.refusals:
                _say(refusal.line)
            return EXIT_REFUSED
        if asked.is_dry:
            return _show(decided)
        if is_removal and not _is_sure(asked, decided):
            return EXIT_REFUSED
        return _carry_out(machine, facts, decided)
    except Refused as error:
        _say(str(error))
        return EXIT_FAILED


def _carry_out(machine: ThisMachine, facts: Facts, decided: Plan) -> int:
    os.environ.update(facts.carried)  # noqa: TID251 - what fetches for us needs it as the agent does
    code = carry_out(decided.actions, Hands(machine, facts, _say, time.sleep))
    for line in decided.afterwards:
        _say(line)
    return code


def _show(decided: Plan) -> int:
    for action in decided.actions:
        _say(action.line if isinstance(action, Note) else f"would {action.line}")
    for line in decided.afterwards:
        _say(line)
    return EXIT_OK


def _is_sure(asked: Asked, decided: Plan) -> bool:
    """Ask the owner, where one sits there."""
    if asked.is_sure:
        return True
    try:
        with TERMINAL.open("r+") as terminal:
            for action in decided.actions:
                terminal.write(f"  {action.line}\n")
            terminal.write("Do this? [y/N] ")
            terminal.flush()
            return terminal.readline().strip().lower() in {"y", "yes"}
    except OSError:
        return True


def _base_python() -> str:
    """Give the Python that makes environments: not that of an environment, which may be the one to be replaced."""
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    return str(base) if base.exists() else sys.executable


def _say(line: str) -> None:
    sys.stderr.write(f"ktms-node: {line}\n")
    sys.stderr.flush()


def _end(number: int, _: object) -> None:
    """End as after an error, so that what is held is let go."""
    sys.exit(128 + number)
