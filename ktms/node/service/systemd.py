"""The background of a Linux user: a unit of the user's own systemd, which lingers after the logout.

Rules: SIGTERM goes to the agent alone and once, since a second one cuts running answers; an agent that another one
has superseded is not started again. Not here: machines without systemd (`foreground.py`), sleep (`sleep.py`).
"""

import re
from collections.abc import Mapping
from pathlib import Path

from ktms.node.machine import Machine, Ran
from ktms.node.service.background import FILES_MAX, RESTART_S, Background, ServiceFailed

SUPERSEDED = 3
"""Exit code of an agent whose name another one has: started again it would take it back, and so for ever."""

START_S = 30.0
"""What `systemctl` takes beyond the answers that run, for which it waits when it ends a program."""

FOLDER = Path(".config/systemd/user")
WANTS = "default.target.wants"

_SAFE = re.compile(r"[A-Za-z0-9_@:.,/=+-]+")


def unit_name(name: str) -> str:
    """Give the name of a program's unit."""
    return f"ktms-{name}.service"


def unit_path(user_home: Path, name: str) -> Path:
    """Give where its file lies."""
    return user_home / FOLDER / unit_name(name)


def unit_text(program: Background) -> str:
    """Write the unit."""
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in program.variables)
    return (
        f"[Unit]\nDescription={program.what}\n"
        "# Its gateway may be away for hours.\nStartLimitIntervalSec=0\n\n"
        f"[Service]\nExecStart={' '.join(_quoted(word).replace('$', '$$') for word in program.words)}\n{variables}"
        f"Restart=always\nRestartSec={RESTART_S}\nRestartPreventExitStatus={SUPERSEDED}\n"
        f"KillMode=mixed\nTimeoutStopSec={program.stops_in_s}\nLimitNOFILE={FILES_MAX}\nUMask=0077\n\n"
        "[Install]\nWantedBy=default.target\n"
    )


def words_of(variables: Mapping[str, str], uid: int) -> tuple[str, ...]:
    """Give how `systemctl --user` is called.

    In a job, or after `su`, it does not find the user's systemd by itself.
    """
    if variables.get("XDG_RUNTIME_DIR"):
        return ("systemctl", "--user")
    return ("env", f"XDG_RUNTIME_DIR=/run/user/{uid}", "systemctl", "--user")


def answers(machine: Machine, systemctl: tuple[str, ...]) -> bool:
    """Whether this user has a systemd that takes units."""
    ran = machine.run((*systemctl, "is-system-running"))
    return ran.out.strip() in {"running", "degraded", "starting", "initializing"}


def is_active(machine: Machine, systemctl: tuple[str, ...], name: str) -> bool:
    """Whether the program runs."""
    shown = machine.run((*systemctl, "show", unit_name(name)))
    return shown.code == 0 and bool({"ActiveState=active", "ActiveState=activating"} & set(shown.out.splitlines()))


def start(machine: Machine, systemctl: tuple[str, ...], name: str, stops_in_s: int) -> None:
    """Have it run from now on and at each start of the machine; it is restarted where it runs already.

    Raises:
        ServiceFailed: see there.
    """
    for words in (("daemon-reload",), ("enable", unit_name(name)), ("restart", unit_name(name))):
        _expect(machine.run((*systemctl, *words), stops_in_s + START_S), (*systemctl, *words))


def stop(machine: Machine, systemctl: tuple[str, ...], name: str, stops_in_s: int) -> None:
    """End it, and have it started no more; where there is none nothing happens."""
    machine.run((*systemctl, "disable", "--now", unit_name(name)), stops_in_s + START_S)


def forget(machine: Machine, systemctl: tuple[str, ...]) -> None:
    """Have systemd see that unit files are gone."""
    machine.run((*systemctl, "daemon-reload"))


def lingers(machine: Machine, user: str) -> bool:
    """Whether programs of this user outlive the logout."""
    ran = machine.run(("loginctl", "show-user", user, "--property=Linger"))
    return ran.out.strip() == "Linger=yes"


def linger(machine: Machine, user: str) -> str | None:
    """Have them outlive it; gives the line for an administrator where this user may not."""
    if machine.run(("loginctl", "enable-linger", user)).code == 0:
        return None
    return f"sudo loginctl enable-linger {user}"


def _expect(ran: Ran, words: tuple[str, ...]) -> None:
    if ran.code != 0:
        said = (ran.err or ran.out).strip().splitlines()
        raise ServiceFailed(f"{' '.join(words)}: {said[-1] if said else f'exit code {ran.code}'}")


def _quoted(word: str) -> str:
    """Quote for systemd (systemd.syntax): percent signs are specifiers.

    Dollars are variables in commands and nothing but dollars in variables.
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return escaped if _SAFE.fullmatch(word) else f'"{escaped}"'
