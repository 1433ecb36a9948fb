"""What the kernel says of a process: processor time and memory, its children included."""

from collections.abc import Iterable
from pathlib import Path

NS_PER_S = 1_000_000_000


def family(pid: int) -> list[int]:
    """Give a process and all its descendants."""
    members = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            members += family(int(child))
    return members


def cpu_ns(pids: Iterable[int]) -> int:
    """Give the processor time of all threads, in nanoseconds; threads that ended are not in it."""
    schedstats = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(path.read_text().split()[0]) for path in schedstats)


def rss_bytes(pids: Iterable[int]) -> int:
    """Give the resident memory."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) * 1024
    return total
