"""Which host runs: a context variable that tasks, timers and callbacks inherit from whoever made them.

A host has a name ("gw1"); each start of a process on it is an incarnation of its own ("gw1#2"), so what a killed
process has left behind is never taken for its successor. Not here: addresses (`sim/network`), how processes start.
"""

from contextvars import ContextVar

NOWHERE = "nowhere#0"
"""What runs outside of any host: the driver of the world."""

HOST: ContextVar[str] = ContextVar("host", default=NOWHERE)
"""The running incarnation."""


def name_of(incarnation: str) -> str:
    """Give the host's name: "gw1" of "gw1#2"."""
    return incarnation.partition("#")[0]
