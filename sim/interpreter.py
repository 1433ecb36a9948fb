"""A fresh interpreter that runs worlds, one after the other: for the swarm, and wherever a world may hang or die.

Orders go in as lines of JSON, outcomes come back as lines. A world that takes too long in real time is ended by
its own process, which says where it stood; should even that fail, it is killed from here. Either way the next one
meets a new process. Not here: the other end (`sim/cli/worlds.py`), which worlds to run.
"""

import asyncio
import contextlib
import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from ktms.config.environment import process_environment
from sim.edit import NO_EDIT, Edit, read_edit
from sim.outcome import Outcome
from sim.outcome_row import HUNG, Told, read_told

WORLD_WALL_MAX_S = 60.0
"""What a world may take in real time. The slowest sound ones take a few seconds: this one hangs."""

GRACE_S = 10.0
"""How much later than its own limit a process is killed: starting one belongs to its first world."""

LEAVING_MAX_S = 2.0
"""How long a process may take between its last word and its end."""

LINE_MAX_BYTES = 1 << 26
"""One outcome as a line: room for every violation a world can have."""

LAST_WORDS_MAX = 4000
"""How much of the end of its standard error is shown of a process that died."""

TIMEOUT_SAID = re.compile(r"^Timeout \(\d+:\d\d:", re.MULTILINE)
"""How `faulthandler` begins to say where a process stood that it ends."""

NO_HASH = "-"
"""The hash of a world that never came to one."""


@dataclass(frozen=True, slots=True)
class Order:
    """One world to run. `trace` and `journal` name files that take its records, as lines of JSON."""

    scenario: str
    seed: int
    edit: Edit = NO_EDIT
    trace: str = ""
    journal: str = ""


def write_order(order: Order) -> str:
    """Write an order as one line of JSON."""
    return json.dumps(
        {
            "scenario": order.scenario,
            "seed": order.seed,
            "edit": order.edit.word(),
            "trace": order.trace,
            "journal": order.journal,
        }
    )


def read_order(text: str) -> Order:
    """Read it back."""
    members = json.loads(text)
    return Order(**{**members, "edit": read_edit(members["edit"])})


class Interpreter:
    """One process, started for its first world; close it, or use `async with`.

    `hash_seed` is its PYTHONHASHSEED, `program` what Python runs: it takes `--wall` with the seconds of a world.
    """

    def __init__(
        self,
        hash_seed: int,
        world_wall_max_s: float = WORLD_WALL_MAX_S,
        program: tuple[str, ...] = ("-m", "sim", "worlds"),
    ) -> None:
        self._hash_seed = hash_seed
        self._program = program
        self._wall_max_s = world_wall_max_s
        self._child: asyncio.subprocess.Process | None = None
        self._errors: IO[bytes] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(self, order: Order) -> Told:
        """Run one world; one that hangs, or takes its process along, comes back as broken."""
        began = time.perf_counter()
        killed = False
        child = self._child or await self._start()
        assert child.stdin is not None, "it was asked for"
        assert child.stdout is not None, "it was asked for"
        try:
            async with asyncio.timeout(self._wall_max_s + GRACE_S):
                child.stdin.write(write_order(order).encode() + b"\n")
                await child.stdin.drain()
                line = await child.stdout.readline()
        except TimeoutError:
            line, killed = b"", True
        except ConnectionError:
            line = b""
        if line:
            return read_told(line)
        wall_s = time.perf_counter() - began
        return Told(unjudged(order, await self._bury(killed=killed), wall_s))

    async def close(self) -> None:
        """End the process, whatever it does; twice is harmless."""
        child, self._child = self._child, None
        if child is not None:
            await _end(child)
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    async def _start(self) -> asyncio.subprocess.Process:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process: see close
        self._child = await asyncio.create_subprocess_exec(
            *(sys.executable, *self._program, "--wall", str(self._wall_max_s)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self._errors,
            limit=LINE_MAX_BYTES,
            env={**process_environment(), "PYTHONHASHSEED": str(self._hash_seed)},
        )
        return self._child

    async def _bury(self, *, killed: bool) -> str:
        """Say what became of a process that gave no answer, and let go of it."""
        assert self._child is not None, "it was asked"
        assert self._errors is not None, "it was started"
        await _gone(self._child)
        await _end(self._child)
        code = self._child.returncode
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip()
        await self.close()
        hung = killed or TIMEOUT_SAID.search(words) is not None
        said = no_end(self._wall_max_s) if hung else f"died: exit code {code}"
        return f"{said}\n{words[-LAST_WORDS_MAX:]}".strip()


async def _gone(child: asyncio.subprocess.Process) -> None:
    """Wait a moment for a process that leaves by itself: its own exit code tells more than that of our kill."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LEAVING_MAX_S):
            await child.wait()


async def _end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it went by itself just now
            child.kill()
    await child.communicate()


def no_end(wall_max_s: float) -> str:
    """Say that a world hangs."""
    return f"{HUNG}: no end within {wall_max_s:g} s"


def unjudged(order: Order, why: str, wall_s: float) -> Outcome:
    """Give the outcome of a world that never came to its end, and so has no hash."""
    return Outcome(
        scenario=order.scenario,
        seed=order.seed,
        edit=order.edit,
        hash=NO_HASH,
        violations=(),
        broken=why,
        simulated_s=0.0,
        wall_s=wall_s,
        calls=0,
        counts={},
        marks=(),
        active=(),
        seen=(),
    )
