"""Keeps the machine awake while the agent runs: a child of the agent that holds the lock and ends with it.

Rules: the agent starts the child, not the other way round, so that a signal reaches the agent once and itself; the
child ends when the agent does, however that ends: `caffeinate -w` watches it, the other reads a pipe that closes.
A user whose session is over may not always block sleep on Linux: then idleness alone is held off, and the doctor
names the one line for an administrator. Not here: what the doctor sees of it.
"""

import asyncio
import os
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

HELD_S = 2.0
"""A lock that is refused is refused at once."""

AGAIN_S = 60.0
"""Somebody may have logged in since."""

MISSING = ("info", "nothing here keeps this machine awake")
REFUSED = ("warning", "this user may not keep this machine awake: ktms-node doctor says what helps")

Told = Callable[[str, str], None]
"""Takes a level and a line."""


def locks(system: str, pid: int) -> tuple[tuple[str, ...], ...]:
    """Give the commands that keep this system awake for a process: the best first."""
    if system == "darwin":
        return (("/usr/bin/caffeinate", "-i", "-s", "-w", str(pid)),)
    if system != "linux":
        return ()
    who = ("--who=ktms-node", "--why=Serves models", "--mode=block", "cat")
    return tuple(("systemd-inhibit", f"--what={what}", *who) for what in ("sleep:idle", "idle"))


async def keep_awake(commands: Sequence[Sequence[str]], told: Told) -> None:
    """Hold the best lock there is until cancelled."""
    said = None
    while commands:
        why_not = await _hold(commands, told)
        if why_not is not None and why_not != said:
            told(*why_not)
        said = why_not
        await asyncio.sleep(AGAIN_S)


async def _hold(commands: Sequence[Sequence[str]], told: Told) -> tuple[str, str] | None:
    """Hold the first lock that is granted until it ends; gives what to tell where none is."""
    why_not = MISSING
    for nth, words in enumerate(commands):
        try:
            async with _child(words) as child:
                if not await _ends(child, HELD_S):
                    told("info" if nth == 0 else "warning", _held(nth))
                    await child.wait()
                    return None
        except OSError:
            continue
        why_not = REFUSED
    return why_not


def _held(nth: int) -> str:
    if nth == 0:
        return "this machine is kept awake"
    return "only idleness is held off, this machine may still be sent to sleep: see ktms-node doctor"


async def _ends(child: Process, within_s: float) -> bool:
    try:
        async with asyncio.timeout(within_s):
            await child.wait()
    except TimeoutError:
        return False
    return True


@asynccontextmanager
async def _child(words: Sequence[str]) -> AsyncIterator[Process]:
    child = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
    try:
        yield child
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(child.pid, 15)
            await asyncio.shield(child.wait())
