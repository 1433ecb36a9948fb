"""Machines that keep no programs running for a user: why this is one, and what its owner starts instead.

Not here: running it (`install/carry_out.py`).
"""

import shlex
from collections.abc import Iterable
from pathlib import Path

from ktms.node.machine import Machine
from ktms.node.service.background import Background


def why_no_service(machine: Machine) -> str:
    """Say what kind of machine this is, for one whose user has no systemd."""
    if "microsoft" in (machine.read(Path("/proc/version")) or "").lower():
        return "this is WSL without systemd (`systemd=true` below [boot] in /etc/wsl.conf brings it)"
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    if machine.variables.get("container") or any(machine.read(mark) is not None for mark in marks):
        return "this is a container"
    if machine.run(("systemctl", "--version")).code == 0:
        return "this user's systemd does not answer (log in as this user itself, not by su or sudo)"
    return "this system has no systemd"


def commands(programs: Iterable[Background]) -> tuple[str, ...]:
    """Give the lines that start programs by hand."""
    return tuple(shlex.join((*_environment(one), *one.words)) for one in programs)


def _environment(program: Background) -> tuple[str, ...]:
    settings = tuple(f"{name}={value}" for name, value in program.variables)
    return ("env", *settings) if settings else ()
