"""How much memory each replica has ever had, as facts, and by how much that grew while a fault was on.

The kernel's own highest mark of a process is read, so no moment is missed. Not here: who must stay below what.
"""

from pathlib import Path

from chaos.experiments.experiment import Broken
from chaos.stand.stand import Stand

PEAK = "memory_peak_bytes"

KIB, MB = 1024, 1e6


def note_memory(stand: Stand) -> None:
    """Note the highest mark of each replica that runs."""
    for gateway in stand.gateways:
        if gateway.process.running:
            peak = peak_bytes(gateway.process.pid)
            stand.journal.note("gauge", gateway.name, name=PEAK, label="", value=peak)


def peak_bytes(pid: int) -> int:
    """Read the most memory that a process has ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * KIB
    raise AssertionError(f"process {pid} does not tell of its memory")


def memory_grown_mb(broken: Broken) -> float:
    """Give by how much it grew at the replica where it grew most; -1 where nothing was noted."""
    seen: dict[str, list[float]] = {}
    for fact in broken.journal.of("gauge"):
        if fact.members["name"] == PEAK:
            seen.setdefault(fact.host, []).append(fact.number("value"))
    return max(((peaks[-1] - peaks[0]) / MB for peaks in seen.values()), default=-1.0)
