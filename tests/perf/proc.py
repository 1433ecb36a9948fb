"""What the kernel says of a process: processor time and memory, its children included."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


def family(pid: int) -> list[int]:
    """Give a process and all its descendants."""
    members = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            members += family(int(child))
    return members


class Time(NamedTuple):
    """Nanoseconds on a processor, and waiting for one while ready to run."""

    ran_ns: int
    waited_ns: int

    def since(self, before: "Time") -> "Time":
        """Give what passed between two readings."""
        return Time(self.ran_ns - before.ran_ns, self.waited_ns - before.waited_ns)

    @property
    def waited_share(self) -> float:
        """The part of its wish to run that was spent waiting: near zero when the processor is its own."""
        return self.waited_ns / max(1, self.ran_ns + self.waited_ns)


def time_of(pids: Iterable[int]) -> Time:
    """Read the time of all threads; threads that ended are not in it."""
    schedstats = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    readings = [[int(number) for number in path.read_text().split()] for path in schedstats]
    return Time(sum(reading[0] for reading in readings), sum(reading[1] for reading in readings))


def rss_bytes(pids: Iterable[int]) -> int:
    """Give the resident memory."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1]) * 1024
    return total
