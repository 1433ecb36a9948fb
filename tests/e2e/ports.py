"""Ports of this machine: free ones, and the usual ones of engines, which one test at a time may use."""

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ktms.adapters.discovery.look import PORTS
from ktms.adapters.embedded.tcp_port import free_port, is_free

LOOPBACK = "127.0.0.1"


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
    """Listen on a port whose next ones are free, as another program would."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        yield listener.getsockname()[1]


@contextmanager
def usual_ports() -> Iterator[list[int]]:
    """Hold the ports where engines are looked for, against other tests; gives those that llama.cpp may have.

    Raises:
        LookupError: an engine that is not ours runs here.
    """
    lock = Path(tempfile.gettempdir()) / f"ktms-usual-ports-{os.getuid()}.lock"
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        taken = [port for port in PORTS if not is_free(port)]
        if taken:
            raise LookupError(f"port {taken[0]} is in use")
        yield [port for port in PORTS if 8081 <= port <= 8089]  # noqa: PLR2004  # where llama.cpp is looked for
