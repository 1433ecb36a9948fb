"""A program under test as a process of its own: what it prints, how it ends, what it leaves behind."""

import contextlib
import ctypes
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from ktms.config.environment import process_environment
from tests.e2e.waiting import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
KTMS = Path(sys.executable).parent / "ktms"

PR_SET_PDEATHSIG = 1
"""Option of prctl(2): a test run that is killed takes its programs along (Linux)."""

RUN_WITHIN_S = 30.0
"""A command that starts databases and ends takes 2 s; this bounds a hang."""


@dataclass(frozen=True, slots=True)
class Done:
    """A program that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it said on standard error, without the log lines of the gateway (they begin with a date)."""
        return [line for line in self.err.splitlines() if not re.match(r"\d{4}-\d\d-\d\dT", line)]


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Give an environment of a user at `home`, free of settings of the person who runs the tests.

    Bytecode is kept, as an installed product has it: without it each start compiles for two seconds.
    """
    dropped = ("KTMS_", "PYTHONDONTWRITEBYTECODE")
    inherited = {name: value for name, value in process_environment().items() if not name.startswith(dropped)}
    folders = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTHONPYCACHEPREFIX": str(_bytecode()),
    }
    return {**inherited, **folders, "PATH": f"{KTMS.parent}:{inherited.get('PATH', '')}", **variables}


def run(command: Sequence[str | Path], env: Mapping[str, str], *, text: str | None = None) -> Done:
    """Run a program to its end."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, env=env, cwd=ROOT, input=text, capture_output=True, text=True, check=False, timeout=RUN_WITHIN_S
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _bytecode() -> Path:
    folder = Path(tempfile.gettempdir()) / f"ktms-bytecode-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


class Program:
    """Runs while entered; standard output and error go to files of their own, so nothing can block on them."""

    def __init__(self, command: Sequence[str | Path], env: Mapping[str, str], folder: Path, name: str) -> None:
        self._words = [str(word) for word in command]
        self._env = dict(env)
        self._out = folder / f"{name}.out"
        self._err = folder / f"{name}.err"
        self._family: list[psutil.Process] = []
        self.process: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                self._words,
                cwd=ROOT,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                preexec_fn=_die_with_us(),  # noqa: PLW1509  # one system call
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remember_family()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE_S)
        _, alive = psutil.wait_procs(self._family, timeout=PATIENCE_S)
        for process in alive:
            process.kill()
        assert not alive, f"{shlex.join(self._words)} left processes behind: {alive}"

    @property
    def out(self) -> str:
        """What it printed so far."""
        return self._out.read_text(errors="replace")

    @property
    def err(self) -> str:
        """What it said on standard error so far."""
        return self._err.read_text(errors="replace")

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def said(self, pattern: str, within_s: float = PATIENCE_S) -> re.Match[str]:
        """Wait until it printed something.

        Raises:
            AssertionError: it ended before, or did not in time.
        """

        def look() -> re.Match[str] | bool:
            ended = not self.running
            found = re.search(pattern, self.out, re.MULTILINE | re.DOTALL)
            return found or ended

        found = until(look, f"{shlex.join(self._words)} says {pattern!r}", within_s)
        assert isinstance(found, re.Match), f"it ended with {self.process.returncode}: {self.out}\n{self.err}"
        return found

    def until(self, fact: Callable[[], object], what: str, within_s: float = PATIENCE_S) -> None:
        """Wait for a fact about it as long as it runs."""
        until(lambda: fact() or not self.running, what, within_s)
        assert self.running, f"{what}: it ended with {self.process.returncode}: {self.err}"

    def remember_family(self) -> list[psutil.Process]:
        """Give its child processes; the end of the block checks that none of them is left."""
        with contextlib.suppress(psutil.NoSuchProcess):
            self._family += psutil.Process(self.process.pid).children(recursive=True)
        return self._family

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.remember_family()
        self.process.send_signal(number)

    def ended(self, within_s: float = PATIENCE_S) -> Done:
        """Wait for its end."""
        code = self.process.wait(within_s)
        return Done(code, self.out, self.err)

    def stop(self) -> Done:
        """End it as an operator does: one SIGTERM."""
        self.signal(signal.SIGTERM)
        return self.ended()


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
