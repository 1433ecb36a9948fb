"""A free TCP port on loopback. Whoever uses it must still be ready for someone having been faster."""

import socket

from ktms.adapters.embedded.failed import EmbeddedFailed

LOOPBACK = "127.0.0.1"
"""The embedded servers are for this machine alone."""

PORTS_TRIED_MAX = 20
"""How far past a wanted port one looks: more neighbours than anybody runs, few enough to stay recognisable."""

PORT_RACES_MAX = 5
"""How often another program may snatch the port between our look and the server's."""


def free_port(wanted: int | None) -> int:
    """Give the wanted port or the next free one after it; None means any.

    Raises:
        EmbeddedFailed: all of them are taken.
    """
    if wanted is None:
        with socket.socket() as probe:
            probe.bind((LOOPBACK, 0))
            port: int = probe.getsockname()[1]
            return port
    last = min(wanted + PORTS_TRIED_MAX, 65536) - 1
    for port in range(wanted, last + 1):
        if is_free(port):
            return port
    raise EmbeddedFailed(f"the ports {wanted} to {last} are all taken: stop what uses them or name another one")


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of loopback right now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no obstacle
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
