"""Our own machines under test: engines in processes of their own, and what each counted."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

from tests.e2e.fleet_engine import WINDOW_TOKENS
from tests.e2e.program import Program, environment
from tests.e2e.waiting import PATIENCE_S
from tests.world.events import VENDOR_MODEL

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Counts:
    """Generations of one engine: now, the most at once ever, all that were begun, those that came to their end."""

    running: int
    most: int
    begun: int
    whole: int


class Machine:
    """One engine. What it counts is asked over one kept connection."""

    def __init__(self, name: str, slots: int, program: Program) -> None:
        self.name = name
        self.slots = slots
        self.port = int(program.said(r"^port (\d+)$")[1])
        self._connection = HTTPConnection(LOOPBACK, self.port, timeout=PATIENCE_S)

    @property
    def counts(self) -> Counts:
        """What it has counted so far."""
        self._connection.request("GET", "/seen")
        return Counts(**json.loads(self._connection.getresponse().read()))

    @property
    def declared(self) -> dict[str, object]:
        """It as a node of the catalogue."""
        models = [{"name": VENDOR_MODEL, "context_window": WINDOW_TOKENS}]
        url = f"http://{LOOPBACK}:{self.port}"
        return {"name": self.name, "url": url, "engine": "vllm", "slots": self.slots, "models": models}

    def close(self) -> None:
        """Close our connection."""
        self._connection.close()


class Machines:
    """All of them."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.all = tuple(machines)

    @property
    def slots(self) -> int:
        """Slots in all."""
        return sum(machine.slots for machine in self.all)

    @property
    def running(self) -> int:
        """Generations of all of them together."""
        return sum(machine.counts.running for machine in self.all)

    @property
    def overfull(self) -> dict[str, int]:
        """Machines that ever had more generations at once than slots, and how many."""
        return {one.name: one.counts.most for one in self.all if one.counts.most > one.slots}


@contextmanager
def machines(folder: Path, slots: Sequence[int], words_per_s: Sequence[float]) -> Iterator[Machines]:
    """Run one engine per number of slots, while the block runs."""
    with ExitStack() as opened:
        programs = [
            opened.enter_context(
                Program(
                    [sys.executable, "-m", "tests.e2e.fleet_engine", str(speed)],
                    environment(folder),
                    folder,
                    f"engine-{number}",
                )
            )
            for number, speed in enumerate(words_per_s, 1)
        ]
        found = []
        for number, (program, count) in enumerate(zip(programs, slots, strict=True), 1):
            machine = Machine(f"engine-{number}", count, program)
            opened.callback(machine.close)
            found.append(machine)
        yield Machines(found)
