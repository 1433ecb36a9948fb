"""One process of the product: started, waited for, signalled, killed, frozen; and commands that run to their end.

What it says goes to files of its own, one pair per start, so nothing blocks on them and a test that fails can show
them. It sees no KTMS_ variable of ours but those it is given. Not here: what it is (`gateway.py`, `ledger.py`).
"""

import asyncio
import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

KTMS = Path(sys.executable).parent / "ktms"
"""The product is its command, and nothing else."""

READY_WITHIN_S = 40.0
"""A gateway listens within two seconds here; the rest is for a machine that has other things to do."""

LOOK_EVERY_S = 0.03

ENDS_WITHIN_S = 20.0
"""Beyond the drain that the stand sets, for whoever was asked to leave."""

CLOSE_WITHIN_S = 5.0
"""When everything is over a process gets this long, then it is killed."""

COMMAND_WITHIN_S = 40.0
"""A command takes a second here."""

TOLD_CHARS_MAX = 2000
"""Of what a process said last, in an error."""

PR_SET_PDEATHSIG = 1
"""Option of prctl(2): who is killed takes its processes along (Linux)."""


def unguarded(guard: str) -> tuple[str | Path, ...]:
    """Give the command of the product that goes without one of its guards."""
    return (sys.executable, "-m", "chaos.stand.unguarded", guard)


def few_files(most: int) -> tuple[str, ...]:
    """Give what a command is to begin with, so that it may open so few files, and cannot allow itself more."""
    return ("sh", "-c", f'ulimit -n {most:d}; exec "$@"', "sh")


class ProcessFailed(Exception):
    """A process ended, or did not do in time what it should; holds the last lines that it said."""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str


def environment(home: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """Give a process the environment of a user who lives at `home` and has set these variables.

    Bytecode is kept, as an installed product has it: without it each start compiles for two seconds.
    """
    dropped = ("KTMS_", "PYTHONDONTWRITEBYTECODE", "COV_", "COVERAGE_")
    inherited = {
        name: value
        for name, value in os.environ.items()  # noqa: TID251  # what our processes inherit of ours
        if not name.startswith(dropped)
    }
    bytecode = Path(tempfile.gettempdir()) / f"ktms-bytecode-{os.getuid()}"
    bytecode.mkdir(mode=0o700, exist_ok=True)
    folders = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPYCACHEPREFIX": str(bytecode),
    }
    return {**inherited, **folders, **variables}


async def run(words: Sequence[str | Path], env: Mapping[str, str], folder: Path) -> Done:
    """Run a command to its end.

    Raises:
        ProcessFailed: it takes too long.
    """
    command = [str(word) for word in words]
    process = await asyncio.create_subprocess_exec(
        *command,
        env=dict(env),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        preexec_fn=_die_with_us(),  # one system call
    )
    try:
        async with asyncio.timeout(COMMAND_WITHIN_S):
            out, err = await process.communicate()
    except TimeoutError as error:
        raise ProcessFailed(f"{command[0]} {command[1]} takes more than {COMMAND_WITHIN_S:.0f} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))


class Process:
    """One process at a time; `expected` tells whether its end was ours to decide."""

    def __init__(self, name: str, words: Sequence[str | Path], env: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.expected = False
        self._words = [str(word) for word in words]
        self._env = dict(env)
        self._folder = folder
        self._starts = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Its number."""
        assert self._process is not None, "started first"
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def code(self) -> int | None:
        """How it ended: an exit code, or the number of a signal below zero; None while it runs."""
        return None if self._process is None else self._process.returncode

    @property
    def logs(self) -> tuple[Path, ...]:
        """Where its standard output went, one file per start."""
        return tuple(self._folder / f"{self.name}-{start}.out" for start in range(1, self._starts + 1))

    @property
    def said(self) -> str:
        """What it said last, on both of its outputs."""
        files = [self._folder / f"{self.name}-{self._starts}.{end}" for end in ("out", "err")]
        return "\n".join(file.read_text(errors="replace")[-TOLD_CHARS_MAX:] for file in files if file.exists())

    async def start(self) -> None:
        """Start it; it must not be running."""
        assert not self.running, f"{self.name} runs"
        self._starts += 1
        self.expected = False
        path = self._folder / f"{self.name}-{self._starts}"
        with path.with_suffix(".out").open("wb") as out, path.with_suffix(".err").open("wb") as err:
            self._process = await asyncio.create_subprocess_exec(
                *self._words,
                env=self._env,
                cwd=self._folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=_die_with_us(),  # one system call
            )

    async def wait_ready(self, look: Callable[[], Awaitable[object]], within_s: float = READY_WITHIN_S) -> None:
        """Look until it is so.

        Raises:
            ProcessFailed: the process ended before, or the time is over.
        """
        try:
            async with asyncio.timeout(within_s):
                while not await look():
                    if not self.running:
                        raise ProcessFailed(f"{self.name} ended with {self.code}: {self.said}")
                    await asyncio.sleep(LOOK_EVERY_S)
        except TimeoutError as error:
            raise ProcessFailed(f"{self.name} is not ready after {within_s:.0f} s: {self.said}") from error

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; harmless when it has ended."""
        if self.running:
            assert self._process is not None
            self._process.send_signal(number)

    async def ended(self, within_s: float = ENDS_WITHIN_S) -> int:
        """Wait for its end and give how.

        Raises:
            ProcessFailed: it does not end.
        """
        assert self._process is not None, "started first"
        try:
            async with asyncio.timeout(within_s):
                return await self._process.wait()
        except TimeoutError as error:
            raise ProcessFailed(f"{self.name} has not ended after {within_s:.0f} s: {self.said}") from error

    def ask_to_leave(self) -> None:
        """Send SIGTERM, as an operator does."""
        self.expected = True
        self.signal(signal.SIGTERM)

    async def term(self, within_s: float = ENDS_WITHIN_S) -> int:
        """Ask it to leave, wait until it has, and give its exit code.

        Raises:
            ProcessFailed: it does not leave.
        """
        self.ask_to_leave()
        return await self.ended(within_s)

    async def kill(self) -> None:
        """End it without a word."""
        self.expected = True
        self.signal(signal.SIGKILL)
        await self.ended()

    def freeze(self) -> None:
        """Let it stand still: its connections stay open and nobody answers."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.signal(signal.SIGCONT)

    async def close(self) -> None:
        """End it, whatever state it is in; twice is harmless."""
        if not self.running:
            return
        self.thaw()
        self.ask_to_leave()
        self.signal(signal.SIGTERM)  # the second one ends it at once
        with suppress(ProcessFailed):
            await self.ended(CLOSE_WITHIN_S)
        if self.running:
            await self.kill()


def _die_with_us() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)  # loaded before the fork: the child may do next to nothing
    ours = os.getpid()

    def arm() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != ours:
            os._exit(1)

    return arm
