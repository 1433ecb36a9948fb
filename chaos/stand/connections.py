"""The connections of one process, as the kernel has them: from clients, and to targets.

A connection that its peer has closed counts until the process closes it too, so one that is forgotten shows. Not
here: what is said on them.
"""

from collections.abc import Collection
from dataclasses import dataclass

import psutil

OVER = frozenset({psutil.CONN_LISTEN, psutil.CONN_TIME_WAIT, psutil.CONN_CLOSE, psutil.CONN_NONE})


@dataclass(frozen=True, slots=True)
class Connections:
    """How many there are."""

    clients: int
    upstream: int


def connections_of(pid: int, port: int, target_ports: Collection[int]) -> Connections:
    """Count those of a process that listens on `port`; none of a process that is gone."""
    try:
        found = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.NoSuchProcess:
        found = []
    alive = [each for each in found if each.status not in OVER and each.raddr]
    return Connections(
        clients=sum(each.laddr.port == port for each in alive),
        upstream=sum(each.raddr.port in target_ports for each in alive),
    )
