"""A server of this machine as one tree of processes: begun, frozen, thawed, killed, begun again, ended.

It dies with us (Linux) and gets nothing of our environment. Not here: which program, and when it is ready.
"""

import asyncio
import ctypes
import os
import platform
import signal
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from chaos.services.account import Account
from chaos.services.service import ServiceFailed

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
"""All that a server gets: a place for tools, and messages in one language."""

END_GRACE_S = 10.0
"""Wait for an orderly end; the servers here need 0.1 s, a machine under load more."""

DEATH_DEADLINE_S = 10.0
"""Wait after SIGKILL, which nothing outlives but a process in a system call on a slow disk."""

STOP_DEADLINE_S = 5.0
"""Wait until a signal that stops has stopped all of them; each does so when it next leaves the kernel."""

POLL_S = 0.005
"""How often states are looked at; there is nothing to wait on for a process that stops."""

LOG_TAIL_BYTES = 2048
"""Enough of a log's end to show why a server did not start."""

DEAD = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
"""States of what has ended. Children of the dead are collected by the system's first process, in its own time."""

STANDING = {psutil.STATUS_STOPPED, *DEAD}
"""States in which a process does nothing."""

PR_SET_PDEATHSIG = 1
"""Option of prctl(2): the signal a process gets when its parent dies."""


class Server:
    """The process and all that it has started. `ends` is the signal of its orderly end."""

    def __init__(
        self,
        name: str,
        log: Path,
        *,
        account: Account | None = None,
        ends: signal.Signals = signal.SIGTERM,
        grace_s: float = END_GRACE_S,
    ) -> None:
        self._name = name
        self._log = log
        self._account = account
        self._ends = ends
        self._grace_s = grace_s
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def runs(self) -> bool:
        """Whether its first process is alive, frozen or not."""
        return self._child is not None and self._child.poll() is None

    @property
    def last_words(self) -> str:
        """The last line of its log, for the message of a failure."""
        lines = self._log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else "it says nothing"

    def begin(self, command: Sequence[str | Path], *, config: str = "") -> None:
        """Start it; `config` is what it reads on standard input, the place for a password.

        Raises:
            ServiceFailed: it cannot be executed.
        """
        assert not self.runs, "one at a time"
        account = self._account
        try:
            with self._log.open("ab") as output:
                self._child = subprocess.Popen(  # noqa: S603  # programs of the wheels or of this project, no shell
                    [str(part) for part in command],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=self._log.parent,
                    env=ENVIRONMENT,
                    start_new_session=True,  # Ctrl-C at the terminal is for us; we end it in order
                    # A change of user clears the death signal, so it is set after that, in the child.
                    preexec_fn=_dies_with_us(),  # noqa: PLW1509  # one system call
                    user=account.uid if account else None,
                    group=account.gid if account else None,
                    extra_groups=() if account else None,
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise ServiceFailed(f"{self._name} cannot be started: {error}") from error
        assert self._child.stdin is not None, "a pipe was asked for"
        try:
            with self._child.stdin as pipe:
                pipe.write(config.encode())
        except BrokenPipeError:
            pass  # it ended already; whoever waits for it to be ready reads the reason in its log

    async def freeze(self) -> None:
        """Stop all processes, the one that starts others first, and wait until they have stopped.

        Raises:
            ServiceFailed: one of them goes on.
        """
        deadline = asyncio.get_running_loop().time() + STOP_DEADLINE_S
        while moving := [each for each in self._tree() if _status(each) not in STANDING]:
            if asyncio.get_running_loop().time() > deadline:
                raise ServiceFailed(f"{self._name} cannot be frozen: process {moving[0].pid} goes on")
            _each(moving, psutil.Process.suspend)
            await asyncio.sleep(POLL_S)

    async def thaw(self) -> None:
        """Let all processes go on, the first one last: its children are there when it looks."""
        _each(reversed(self._tree()), psutil.Process.resume)

    async def kill(self) -> None:
        """End all processes at once; returns when they are gone.

        Raises:
            ServiceFailed: one of them does not end.
        """
        _each(self._tree()[:1], psutil.Process.suspend)  # or it starts another one between our look and our shot
        tree = self._tree()
        _each(tree, psutil.Process.kill)
        await self._gone(tree)

    async def end(self) -> None:
        """End it in order, else at once; harmless when it is not running. Cancellation makes it end at once."""
        tree = self._tree()
        if self._child is None or not tree:
            return
        try:
            await self.thaw()
            self._child.send_signal(self._ends)
            await asyncio.to_thread(self._child.wait, self._grace_s)
        except subprocess.TimeoutExpired:
            pass  # killed below, like all that are left
        finally:
            _each(tree, psutil.Process.kill)
            await asyncio.shield(self._gone(tree))

    def _tree(self) -> list[psutil.Process]:
        """Give the first process and then all below it; empty when it does not run."""
        if self._child is None or not self.runs:
            return []
        try:
            first = psutil.Process(self._child.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    async def _gone(self, tree: Sequence[psutil.Process]) -> None:
        if self._child is None:
            return
        try:
            await asyncio.to_thread(self._child.wait, DEATH_DEADLINE_S)  # collects it, or it stays a zombie
        except subprocess.TimeoutExpired as error:
            raise ServiceFailed(f"{self._name} does not die") from error
        deadline = asyncio.get_running_loop().time() + DEATH_DEADLINE_S
        while left := [each for each in tree if _status(each) not in DEAD]:
            if asyncio.get_running_loop().time() > deadline:
                raise ServiceFailed(f"{self._name} does not die: process {left[0].pid} is left")
            await asyncio.sleep(POLL_S)


def _status(process: psutil.Process) -> str:
    try:
        return str(process.status())
    except psutil.NoSuchProcess:
        return str(psutil.STATUS_DEAD)


def _each(processes: Iterable[psutil.Process], act: Callable[[psutil.Process], None]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            act(process)


def _dies_with_us() -> Callable[[], None] | None:
    if platform.system() != "Linux":
        return None
    libc = ctypes.CDLL(None)  # loaded before the fork: the child may do next to nothing
    parent_pid = os.getpid()

    def arm() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent_pid:  # it died before the signal was armed
            os._exit(1)

    return arm
