"""What keeps the agent running: launchd or systemd, linger, and whatever holds off sleep.

All of it waits for commands, so never in an event loop. What no command tells is not known. Not here: making the
service (`service/`).
"""

import re
from pathlib import Path

from ktms.node.doctor.facts import ServiceFacts
from ktms.node.engines.processes import Process
from ktms.node.machine import Machine
from ktms.node.service import launchd, systemd
from ktms.node.service.background import NODE
from ktms.node.service.foreground import why_no_service

ASK_S = 4.0

BY_HAND = "ktms-node run"
"""Where nothing else starts it."""

ENABLED = frozenset({"enabled", "enabled-runtime", "linked", "static"})
NOBODY = 65_534

SLEEP_TARGETS = ("sleep.target", "suspend.target")

_LAST_EXIT = re.compile(r"^\s*last exit code = (\d+)", re.MULTILINE)
_ASSERTION = re.compile(
    r"^\s*pid (\d+)\(caffeinate\):.*\b(?:PreventUserIdleSystemSleep|PreventSystemSleep)\b", re.MULTILINE
)
_INHIBITOR = re.compile(r"\s(\d+)\s+\S+\s+(\d+)\s+\S+\s+(\S*\bsleep\b\S*)\s.*\sblock\s*$", re.MULTILINE)


def ask_service(machine: Machine, agent: int | None, processes: tuple[Process, ...]) -> ServiceFacts:
    """Ask; `agent` is the process of the agent, None where it does not run."""
    kin = _kin(agent, processes)
    return _darwin(machine, kin) if machine.system == "darwin" else _linux(machine, kin)


def _kin(agent: int | None, processes: tuple[Process, ...]) -> frozenset[int]:
    """Give the agent, what it was started by and what it started: one of them holds off sleep."""
    if agent is None:
        return frozenset()
    parents = {one.parent for one in processes if one.pid == agent} - {0, 1}
    return frozenset({agent, *parents, *(one.pid for one in processes if one.parent == agent)})


def _darwin(machine: Machine, kin: frozenset[int]) -> ServiceFacts:
    uid = uid_of(machine)
    domain = launchd.loaded_in(machine, uid, NODE)
    label, start = launchd.label(NODE), f"launchctl bootstrap gui/{uid} ~/{launchd.plist_path(Path(), NODE)}"
    told = ""
    if domain is not None:
        start = f"launchctl kickstart {domain}/{label}"
        told = machine.run(("launchctl", "print", f"{domain}/{label}"), within_s=ASK_S).out
    last = _LAST_EXIT.search(told)
    assertions = machine.run(("pmset", "-g", "assertions"), within_s=ASK_S)
    encrypted = machine.run(("fdesetup", "status"), within_s=ASK_S).out
    return ServiceFacts(
        is_enabled=domain is not None,
        last_exit=int(last[1]) if last else None,
        start=start,
        sleep_prevented=_holds(_ASSERTION, assertions.out, kin) if assertions.code == 0 else None,
        is_encrypted="FileVault is On" in encrypted if encrypted else None,
    )


def _linux(machine: Machine, kin: frozenset[int]) -> ServiceFacts:
    words, unit = systemd.words_of(machine.variables, uid_of(machine)), systemd.unit_name(NODE)
    shown = machine.run((*words, "show", unit), within_s=ASK_S)
    if shown.code != 0:
        return ServiceFacts(why_none=why_no_service(machine), start=BY_HAND)
    told = read_properties(shown.out)
    status = told.get("ExecMainStatus", "")
    return ServiceFacts(
        is_enabled=told.get("UnitFileState") in ENABLED,
        last_exit=int(status) if status.isdecimal() else None,
        start=f"systemctl --user enable --now {unit}",
        lingers=_lingers(machine),
        sleep_prevented=_stays_awake(machine, kin),
    )


def uid_of(machine: Machine) -> int:
    """Give the number of this user; that of nobody where it is not told."""
    told = machine.run(("id", "-u"), within_s=ASK_S).out.strip()
    return int(told) if told.isdecimal() else NOBODY


def _lingers(machine: Machine) -> bool | None:
    user = machine.variables.get("USER") or machine.run(("id", "-un"), within_s=ASK_S).out.strip()
    ran = machine.run(("loginctl", "show-user", user, "--property=Linger"), within_s=ASK_S)
    if ran.code == 0:
        return read_properties(ran.out).get("Linger") == "yes"
    return True if machine.read(Path("/var/lib/systemd/linger") / user) is not None else None


def _stays_awake(machine: Machine, kin: frozenset[int]) -> bool | None:
    masked = machine.run(("systemctl", "show", *SLEEP_TARGETS, "--property=LoadState"), within_s=ASK_S).out
    if masked.split().count("LoadState=masked") == len(SLEEP_TARGETS):
        return True
    held = machine.run(("systemd-inhibit", "--list", "--no-legend", "--no-pager"), within_s=ASK_S)
    return _holds(_INHIBITOR, held.out, kin, group=2) if held.code == 0 else None


def _holds(pattern: re.Pattern[str], text: str, kin: frozenset[int], group: int = 1) -> bool:
    return any(int(found[group]) in kin for found in pattern.finditer(text))


def read_properties(text: str) -> dict[str, str]:
    """Read `NAME=VALUE` lines."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
