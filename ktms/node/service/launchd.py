"""The background of a Mac's user: a LaunchAgent in the domain of the desktop, or of the user where there is none.

Rules: everything stands in the plist with absolute paths, since launchd has neither the shell's PATH nor its
variables; a login over SSH alone has no `gui` domain. Codes of launchctl: 112 and 125 of a probe: there is no such
domain; 125 after a good probe: a real failure; 5: not loaded, most often because the old one has not ended yet.
Not here: sleep (`sleep.py`).
"""

import plistlib
from collections.abc import Callable
from pathlib import Path

from ktms.node.machine import Machine, Ran
from ktms.node.service.background import FILES_MAX, RESTART_S, Background, ServiceFailed

FOLDER = Path("Library/LaunchAgents")

NOT_LOADED = 5
LOADED_ALREADY = 37

PAUSE_S = 0.5
"""Between two looks at a service that ends."""

BOOTSTRAPS_MAX = 5
"""`bootout` answers before its service is gone; a moment later `bootstrap` works."""


def label(name: str) -> str:
    """Give what launchd calls a program."""
    return f"ktms.{name}"


def plist_path(user_home: Path, name: str) -> Path:
    """Give where its file lies."""
    return user_home / FOLDER / f"{label(name)}.plist"


def plist_text(program: Background) -> str:
    """Write the plist.

    An agent that was told to end, or that another has superseded, ends with 0 and is not started again.
    """
    limits = {"NumberOfFiles": FILES_MAX}
    content = {
        "Label": label(program.name),
        "ProgramArguments": list(program.words),
        "EnvironmentVariables": dict(program.variables),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RESTART_S,
        "ExitTimeOut": program.stops_in_s,
        # `Background` would be held back on CPU and disk.
        "ProcessType": "Interactive",
        "LimitLoadToSessionType": ["Aqua", "Background"],
        "SoftResourceLimits": limits,
        "HardResourceLimits": limits,
        "StandardOutPath": str(program.log),
        "StandardErrorPath": str(program.log),
        "Umask": 0o077,
    }
    return plistlib.dumps(content, sort_keys=False).decode()


def domain(machine: Machine, uid: int) -> str:
    """Give the domain for services of this user: of the desktop, where somebody has logged in there."""
    probe = machine.run(("launchctl", "print", f"gui/{uid}"))
    return f"gui/{uid}" if probe.code == 0 else f"user/{uid}"


def loaded_in(machine: Machine, uid: int, name: str) -> str | None:
    """Give the domain in which it is loaded; None where it is in none."""
    for found in (f"gui/{uid}", f"user/{uid}"):
        if machine.run(("launchctl", "print", f"{found}/{label(name)}")).code == 0:
            return found
    return None


def start(
    machine: Machine, uid: int, path: Path, name: str, stops_in_s: int, pause: Callable[[float], None]
) -> str:
    """Have it run from now on and at each login; gives the domain.

    Raises:
        ServiceFailed: see there.
    """
    stop(machine, uid, name, stops_in_s, pause)
    first = domain(machine, uid)
    ran = _bootstrap(machine, first, path, name, pause)
    if ran.code == 0:
        return first
    # A desktop that is about to end, or begins: its domain is seen and takes nothing.
    if ran.code == NOT_LOADED and first.startswith("gui/"):
        second = f"user/{uid}"
        ran = _bootstrap(machine, second, path, name, pause)
        if ran.code == 0:
            return second
    said = (ran.err or ran.out).strip().splitlines()
    why = said[0] if said else "it says nothing"
    raise ServiceFailed(f"launchctl bootstrap {first} {path}: {ran.code}: {why}")


def stop(machine: Machine, uid: int, name: str, stops_in_s: int, pause: Callable[[float], None]) -> None:
    """End it and wait until it is gone; where there is none nothing happens."""
    found = loaded_in(machine, uid, name)
    if found is None:
        return
    machine.run(("launchctl", "bootout", f"{found}/{label(name)}"), within_s=stops_in_s + 10)
    for _ in range(int((stops_in_s + 10) / PAUSE_S)):
        if machine.run(("launchctl", "print", f"{found}/{label(name)}")).code != 0:
            return
        pause(PAUSE_S)


def _bootstrap(machine: Machine, into: str, path: Path, name: str, pause: Callable[[float], None]) -> Ran:
    machine.run(("launchctl", "enable", f"{into}/{label(name)}"))  # somebody may have disabled it once
    ran = Ran(NOT_LOADED)
    for _ in range(BOOTSTRAPS_MAX):
        ran = machine.run(("launchctl", "bootstrap", into, str(path)))
        if ran.code == LOADED_ALREADY:
            return Ran(0)
        if ran.code != NOT_LOADED:
            return ran
        pause(PAUSE_S)
    return ran
