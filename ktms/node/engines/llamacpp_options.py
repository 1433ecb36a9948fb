"""What a llama.cpp server's command line says: whether its slots share one window, whether it uses a GPU.

Left to itself it opens four slots which share one cache, and tells for each the whole window; used up together,
every running answer dies (N20). So what it tells is divided, unless it is known that each slot has its own.
"""

from ktms.node.engines.processes import Process, listening_at, processes
from ktms.node.machine import Machine

USUAL_PORT = 8080

_PROGRAMS = frozenset({"llama-server", "llama-server.exe"})


def server_process(machine: Machine, port: int | None) -> Process | None:
    """Find the server that listens at a port; it waits for `ps`, so never in an event loop."""
    return listening_at(processes(machine, lambda one: one.program in _PROGRAMS), port, USUAL_PORT)


def is_divided(process: Process | None) -> bool:
    """Whether each slot surely has a window of its own: they were counted by hand, and not told to share."""
    if process is None or process.says("-kvu", "--kv-unified"):
        return False
    return (process.count("-np", "--parallel") or 0) > 1


def window_per_slot(told: int | None, slots: int | None, process: Process | None) -> int | None:
    """Give the tokens that one slot can count on, of what is told for each."""
    if told is None or slots is None:
        return None
    return told if is_divided(process) else max(1, told // slots)


def gpu_share(process: Process | None) -> float | None:
    """Give 0 where it was told to put no layer on a GPU; else nobody knows."""
    layers = None if process is None else process.count("-ngl", "--gpu-layers", "--n-gpu-layers")
    return 0.0 if layers == 0 else None
