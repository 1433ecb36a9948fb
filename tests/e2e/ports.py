"""Ports of this machine: free ones, and the usual ones of engines, which one test at a time may use."""

import asyncio
import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ktms.adapters.discovery import Found, LoopbackAsker, discover
from ktms.adapters.embedded.tcp_port import LOOPBACK, free_port, is_free

LLAMA_PORTS = range(8081, 8090)
"""Where llama.cpp is looked for (docs/configuration.md)."""


class Busy(Exception):
    """An engine that is not ours runs on this machine: what is found here is not what the test put here."""


def any_port() -> int:
    """Give a port that is free now."""
    return free_port(None)


def listens(port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def occupied() -> Iterator[int]:
    """Listen on a port as another program would."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        yield listener.getsockname()[1]


@contextmanager
def usual_ports() -> Iterator[int]:
    """Hold the places where engines are looked for, against other tests; gives a free one of llama.cpp's.

    Raises:
        Busy: somebody else's engine is there.
    """
    lock = Path(tempfile.gettempdir()) / f"ktms-usual-ports-{os.getuid()}.lock"
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for found in asyncio.run(_engines()):
            raise Busy(f"{found.engine.value} answers on port {found.port}")
        yield next(port for port in LLAMA_PORTS if is_free(port))


async def _engines() -> list[Found]:
    async with LoopbackAsker() as asker:
        return await discover(asker.ask)
