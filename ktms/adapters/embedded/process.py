"""One child process that must not outlive us, and a clean end for it.

Rules: the child is started from the thread that lives as long as we do (the main one), because Linux sends the
death signal when that *thread* ends; no secret is ever an argument; the child has its own session, so that Ctrl-C
in a terminal reaches the gateway alone, which then stops its servers in order; nor does it get our environment,
where vendor keys are, as it may run as somebody else. Only this folder uses subprocess.

Not here: which binary, which arguments, when it is ready.
"""

import asyncio
import ctypes
import os
import platform
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from ktms.adapters.embedded.account import Account
from ktms.adapters.embedded.failed import EmbeddedFailed

PR_SET_PDEATHSIG = 1
"""Option of prctl(2) that names the signal a process gets when its parent dies."""

POLL_S = 0.02
"""How often a starting or ending server is looked at: below what a person notices."""

LAST_GRACE_S = 5.0
"""Wait after the hardest signal; the kernel needs far less, but a disk may be slow."""

LOG_BYTES_MAX = 8 * 1024 * 1024
"""A log beyond this is set aside at the next start, one generation kept: disks of laptops are small."""

LOG_TAIL_BYTES = 4096
"""Enough of a log's end to find the reason of a failed start."""

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}
"""All that a child gets: a place for tools, and messages in the language in which we look for reasons."""


class ServerProcess:
    """A running child. `signals` are sent in turn to end it, each with the seconds it may take."""

    def __init__(
        self, child: subprocess.Popen[bytes], name: str, signals: Sequence[tuple[signal.Signals, float]]
    ) -> None:
        self._child = child
        self._name = name
        self._signals = signals

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._child.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._child.poll() is None

    async def stop(self) -> None:
        """End it, gently first; returns when it is gone. Cancellation makes it end at once, never survive."""
        try:
            for number, grace_s in self._signals:
                if await self._ended_by(number, grace_s):
                    return
        finally:
            if self.running:
                self._child.kill()
                self._child.wait(LAST_GRACE_S)

    async def _ended_by(self, number: signal.Signals, grace_s: float) -> bool:
        if self.running:
            self._child.send_signal(number)
        waited_s = 0.0
        while self.running and waited_s < grace_s:
            await asyncio.sleep(POLL_S)
            waited_s += POLL_S
        return not self.running


def start(
    command: Sequence[str | Path],
    *,
    name: str,
    log: Path,
    account: Account | None,
    signals: Sequence[tuple[signal.Signals, float]],
    config: str = "",
) -> ServerProcess:
    """Start a server whose output goes to `log` and whose first signal also comes when we die (Linux).

    `account` is who it runs as; None means as ourselves. `config` is what it reads on standard input: the place
    for a password, as arguments are visible to everyone on the machine.

    Raises:
        EmbeddedFailed: it cannot be executed.
    """
    _set_old_log_aside(log)
    try:
        with log.open("ab") as output:
            child = subprocess.Popen(  # noqa: S603  # our own binaries, no shell
                [str(part) for part in command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=log.parent,
                env=ENVIRONMENT,
                start_new_session=True,
                # A change of user clears the death signal: it must be set after that, hence in the child.
                preexec_fn=_die_with_parent(os.getpid(), signals[0][0]),  # noqa: PLW1509  # one system call
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=() if account else None,
            )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedFailed(f"{name} cannot be started: {error}") from error
    assert child.stdin is not None, "a pipe was asked for"
    try:
        with child.stdin as pipe:
            pipe.write(config.encode())
    except BrokenPipeError:
        pass  # it ended already; whoever waits for it to be ready reads the reason in its log
    return ServerProcess(child, name, signals)


def run(command: Sequence[str | Path], *, name: str, cwd: Path, account: Account | None, timeout_s: float) -> str:
    """Run a short tool to its end and give what it printed; blocks, so call it in a thread.

    Raises:
        EmbeddedFailed: it cannot be executed, takes too long or fails; the message holds its last line.
    """
    try:
        done = subprocess.run(  # noqa: S603  # our own binaries, no shell
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=ENVIRONMENT,
            timeout=timeout_s,
            check=False,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=() if account else None,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EmbeddedFailed(f"{name} cannot be run: {error}") from error
    printed = done.stdout.decode(errors="replace")
    if done.returncode != 0:
        lines = printed.strip().splitlines() or [f"exit code {done.returncode}"]
        reason = next((line for line in lines if "error:" in line.lower()), lines[-1])
        raise EmbeddedFailed(f"{name} failed: {reason.strip()}")
    return printed


def command_of(pid: int) -> str:
    """Give the command line of a process, empty when there is none (a zombie has none): pids are used again."""
    if platform.system() == "Linux":
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    listed = subprocess.run(  # noqa: S603  # a number of ours, no shell
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False, text=True
    )
    return listed.stdout.strip()


def log_tail(log: Path) -> str:
    """Give the end of a log, empty when there is none."""
    try:
        with log.open("rb") as written:
            written.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            return written.read().decode(errors="replace")
    except OSError:
        return ""


def _die_with_parent(parent_pid: int, number: signal.Signals) -> Callable[[], None] | None:
    if platform.system() != "Linux":
        return None
    libc = ctypes.CDLL(None)  # loaded before the fork: the child may do next to nothing

    def arm() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent_pid:  # it died before the signal was armed
            os._exit(1)

    return arm


def _set_old_log_aside(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        log.replace(log.with_suffix(".old.log"))
