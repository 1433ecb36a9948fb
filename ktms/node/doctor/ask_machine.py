"""The machine itself: memory, disks, GPU, how often it slept, what its owner set in the shell.

All of it waits for commands, so never in an event loop. Not here: services (`ask_service.py`).
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ktms.node.doctor.facts import Disk, MachineFacts
from ktms.node.doctor.window_rules import WISHES
from ktms.node.engines.ollama_process import gpu_bytes
from ktms.node.machine import Machine

ASK_S = 4.0
"""They read tables of the kernel; a driver may have to wake its GPU."""

KIB = 1024

SUSPENDS = Path("/sys/power/suspend_stats/success")
MEMORY = Path("/proc/meminfo")

_DF_LINE = re.compile(r"^\S.*?\s\d+\s+\d+\s+(-?\d+)\s+\d+%\s+(/.*)$")
_MEMORY_LINE = re.compile(r"^(MemTotal|MemAvailable):\s+(\d+) kB$", re.MULTILINE)


def ask_machine(machine: Machine, folders: Iterable[Path]) -> MachineFacts:
    """Ask; `folders` lie on the disks that matter."""
    memory = read_memory(machine.read(MEMORY) or "")
    total = memory.get("MemTotal")
    if machine.system == "darwin":
        total = _number(machine.run(("sysctl", "-n", "hw.memsize"), within_s=ASK_S).out)
    ran = machine.run(("df", "-Pk", *map(str, folders)), within_s=ASK_S)
    return MachineFacts(
        system=machine.system,
        user=machine.variables.get("USER") or machine.run(("id", "-un"), within_s=ASK_S).out.strip(),
        memory_bytes=total,
        free_bytes=memory.get("MemAvailable"),
        gpu_bytes=gpu_bytes(machine),
        suspends=_number(machine.read(SUSPENDS) or ""),
        disks=read_disks(ran.out),
        wishes=read_wishes(machine.variables),
    )


def read_memory(text: str) -> dict[str, int]:
    """Read `/proc/meminfo`, into bytes."""
    return {name: int(number) * KIB for name, number in _MEMORY_LINE.findall(text)}


def read_disks(text: str) -> tuple[Disk, ...]:
    """Read `df -Pk`; one file system may be named for several folders."""
    lines = (_DF_LINE.match(line) for line in text.splitlines())
    return tuple(dict.fromkeys(Disk(found[2], max(0, int(found[1])) * KIB) for found in lines if found))


def read_wishes(variables: Mapping[str, str]) -> dict[str, int]:
    """Give the variables of an engine that are numbers."""
    found = {name: variables.get(name, "") for name in WISHES}
    return {name: int(value) for name, value in found.items() if value.isdecimal() and len(value) <= 9}


def _number(text: str) -> int | None:
    first = text.split()[:1]
    return int(first[0]) if first and first[0].isdecimal() else None
