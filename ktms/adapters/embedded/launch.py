"""Starting a server on a free port and waiting until it is ready; ending one that a killed parent left behind."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.adapters.embedded.process import POLL_S, ServerProcess, command_of, log_tail
from ktms.adapters.embedded.tcp_port import PORT_RACES_MAX, free_port, is_free


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started on a port and seen to be ready; `reason` reads from its log why it is not."""

    name: str
    log: Path
    timeout_s: float
    begin: Callable[[int], ServerProcess]
    ready: Callable[[ServerProcess, int], Awaitable[bool]]
    reason: Callable[[str], str]


async def launch(plan: Launch, wanted_port: int | None) -> tuple[ServerProcess, int]:
    """Start it on the wanted port or the next free one (None: any); the second value is the port.

    Raises:
        EmbeddedFailed: it ends at once or is not ready in time; it is gone then.
    """
    for _ in range(PORT_RACES_MAX):
        port = free_port(wanted_port)
        process = plan.begin(port)
        try:
            if await _became_ready(plan, process, port):
                return process, port
        except BaseException:
            await process.stop()
            raise
        if is_free(port):
            reason = plan.reason(log_tail(plan.log)) or "it says nothing"
            raise EmbeddedFailed(f"{plan.name} does not start: {reason} (see {plan.log})")
    raise EmbeddedFailed(f"{plan.name} finds its port taken again and again: name another one")


async def _became_ready(plan: Launch, process: ServerProcess, port: int) -> bool:
    waited_s = 0.0
    while process.running:
        if await plan.ready(process, port):
            return True
        if waited_s >= plan.timeout_s:
            raise EmbeddedFailed(f"{plan.name} is not ready after {plan.timeout_s:.0f} s (see {plan.log})")
        await asyncio.sleep(POLL_S)
        waited_s += POLL_S
    return False


async def end_orphan(pid: int, mark: str, number: signal.Signals, *, name: str, timeout_s: float) -> None:
    """End process `pid` if its command line holds `mark`; pids are used again, so the number alone proves nothing.

    Raises:
        EmbeddedFailed: it does not end, or is not ours to end.
    """
    waited_s = 0.0
    while mark in command_of(pid):
        if waited_s >= timeout_s:
            raise EmbeddedFailed(f"an old {name} (process {pid}) does not end: end it by hand")
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise EmbeddedFailed(f"an old {name} (process {pid}) runs as another user: end it by hand") from error
        await asyncio.sleep(POLL_S)
        waited_s += POLL_S
