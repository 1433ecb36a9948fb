"""A free TCP port of loopback that stays free while its server is down.

Ports of the kernel's ephemeral range may be taken by any client that connects, even by one that connects to the
dead server itself (a loopback connection to its own port). Servers here are killed and come back to the same port,
so theirs lie below that range.
"""

import secrets
import socket

from chaos.services.service import Unavailable

LOOPBACK = "127.0.0.1"
"""Everything of the suite is for this machine alone."""

PORT_MIN = 20_000
"""Above what common servers listen on."""

PORT_MAX = 32_000
"""Below the ephemeral range of Linux (32768, `ip_local_port_range`) and of all others (49152, RFC 6335)."""

LOOKS_MAX = 200
"""Chances taken before saying that the machine is full: one in two free would already make that certain."""


_given: set[int] = set()
"""Ports of this process that were given away: whoever got one need not listen yet, or no more for the moment."""


def free_port() -> int:
    """Give a port nobody listens on, and nobody else was given; drawn, so that runs side by side seldom meet.

    Raises:
        Unavailable: none was found.
    """
    for _ in range(LOOKS_MAX):
        port = PORT_MIN + secrets.randbelow(PORT_MAX - PORT_MIN)
        if port not in _given and is_free(port):
            _given.add(port)
            return port
    raise Unavailable(f"no TCP port between {PORT_MIN} and {PORT_MAX} is free: end what listens there")


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of loopback right now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no obstacle
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
