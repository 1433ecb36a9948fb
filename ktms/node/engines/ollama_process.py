"""Ollama's processes: how `ollama serve` was started, and the child that serves each model.

Its pages tell neither how many calls a model serves at once nor the default window; the environment of the server
and the command lines of its children do. All of it waits for other programs, so never in an event loop. Of an
environment only the two numbers are kept. Not here: what follows from them (`ollama.py`, `ollama_window.py`).
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ktms.node.engines.ollama_window import GIB, Serving
from ktms.node.engines.processes import PS_WITHIN_S, Process, processes
from ktms.node.machine import Machine

USUAL_PORT = 11434

GPU_WITHIN_S = 1.5
"""A driver that has to wake its GPU first takes about as long."""

MIB = 1 << 20

_PARALLEL, _CONTEXT, _HOST = "OLLAMA_NUM_PARALLEL", "OLLAMA_CONTEXT_LENGTH", "OLLAMA_HOST"
_UNIT = ("systemctl", "show", "ollama", "--property=MainPID,Environment,EnvironmentFiles")
_ANY_ENVIRONMENT = re.compile(r"(?:^|[\s\0])(?:PATH|HOME)=")
_PORT = re.compile(r":(\d{1,5})/?$")
_BLOB = re.compile(r"sha256-([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Child:
    """A process that serves one model. `port`: where it tells its slots; `blob`: SHA-256 of its weights."""

    slots: int | None
    port: int | None
    blob: str | None


@dataclass(frozen=True, slots=True)
class OllamaProcess:
    """What is known of Ollama's processes."""

    serving: Serving = field(default_factory=Serving)
    children: tuple[Child, ...] = ()


def look_at_processes(machine: Machine, port: int | None) -> OllamaProcess:
    """Look at the server that listens at a port, and at its children."""
    found = processes(machine, lambda one: _is_server(one) or _is_child(one))
    environments = {one.pid: _environment(machine, one.pid) for one in found if _is_server(one)}
    pid = _pid_at(environments, port or USUAL_PORT)
    children = tuple(_child(one) for one in found if _is_child(one) and pid in {None, one.parent})
    text = None if pid is None else environments[pid]
    return OllamaProcess(_serving(text), children)


def gpu_bytes(machine: Machine) -> int | None:
    """Give the memory of all GPUs as Ollama counts it; 0 where none is seen, None where it cannot be known."""
    if machine.system == "darwin":
        return _apple(machine)
    ran = machine.run(
        ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"), within_s=GPU_WITHIN_S
    )
    if ran.code == 124:
        return None
    numbers = [line.strip() for line in ran.out.splitlines()] if ran.code == 0 else []
    return sum(int(one) for one in numbers if one.isdecimal()) * MIB


def _apple(machine: Machine) -> int | None:
    """Give what Metal may use: two thirds of a small memory, three quarters of one from 36 GiB."""
    ran = machine.run(("sysctl", "-n", "hw.memsize", "hw.optional.arm64"), within_s=GPU_WITHIN_S)
    told = ran.out.split()
    if not told or not told[0].isdecimal():
        return None
    if told[1:] != ["1"]:
        return 0  # Ollama uses no GPU of Intel Macs
    memory = int(told[0])
    return memory * 2 // 3 if memory < 36 * GIB else memory * 3 // 4


def _is_server(process: Process) -> bool:
    return process.program.lower() == "ollama" and process.says("serve")


def _is_child(process: Process) -> bool:
    if process.program == "llama-server":
        return _BLOB.search(" ".join(process.words)) is not None  # others serve models that Ollama does not keep
    return process.program.lower() == "ollama" and process.words[1:2] == ("runner",)


def _child(process: Process) -> Child:
    blob = _BLOB.search(" ".join(process.words))
    port = process.count("--port") if process.program == "llama-server" else None
    return Child(process.count("-np", "--parallel"), port, blob[1] if blob else None)


def _environment(machine: Machine, pid: int) -> str | None:
    """Give the environment of a process as text; None where it is not ours to read."""
    if machine.system == "darwin":
        ran = machine.run(("ps", "-Eww", "-o", "command=", "-p", str(pid)), within_s=PS_WITHIN_S)
        text = ran.out if ran.code == 0 else ""
    else:
        text = machine.read(Path(f"/proc/{pid}/environ")) or _of_unit(machine, pid)
    return text if _ANY_ENVIRONMENT.search(text) else None


def _of_unit(machine: Machine, pid: int) -> str:
    """Give what the system's unit sets, which anybody may read; another user's process shows nothing itself.

    A file of variables beside it is not ours to read, so then nothing is sure.
    """
    ran = machine.run(_UNIT, within_s=PS_WITHIN_S)
    lines = ran.out.splitlines() if ran.code == 0 else []
    has_file = any(line.startswith("EnvironmentFiles=") and line != "EnvironmentFiles=" for line in lines)
    if f"MainPID={pid}" not in lines or has_file:
        return ""
    set_there = " ".join(line.removeprefix("Environment=") for line in lines if line.startswith("Environment="))
    return f"PATH= {set_there}"


def _pid_at(environments: dict[int, str | None], port: int) -> int | None:
    """Tell which server listens at a port; with one there is no question."""
    if len(environments) == 1:
        return next(iter(environments))
    there = [pid for pid, text in environments.items() if text is not None and _port_of(text) == port]
    return there[0] if len(there) == 1 else None


def _port_of(text: str) -> int:
    found = _PORT.search(_variable(text, _HOST) or "")
    return int(found[1]) if found else USUAL_PORT


def _serving(text: str | None) -> Serving:
    if text is None:
        return Serving()
    return Serving(parallel=_count(text, _PARALLEL), context=_count(text, _CONTEXT))


def _variable(text: str, name: str) -> str | None:
    found = re.search(rf"(?:^|[\s\0\"]){name}=([^\s\0\"]*)", text)
    return found[1] if found else None


def _count(text: str, name: str) -> int:
    """Give a number; 0 where it is not set, or set to what Ollama passes over."""
    value = _variable(text, name) or ""
    return int(value) if value.isdecimal() and len(value) <= 9 else 0
