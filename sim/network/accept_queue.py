"""A listening socket whose owner takes connections itself, and the queue that a kernel keeps before it.

Rules: a connection stands in the queue until it is taken, and what its client sends meanwhile is kept; the owner
is told again in every round while somebody waits, so one that neither takes nor stops looking turns in circles;
without descriptors nobody is taken. Not here: how long such a queue may be, and ports that take by themselves
(`listeners.py`).
"""

import asyncio
import errno
import socket
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Any, cast

from sim.hosts import HOST, name_of
from sim.loop import VirtualLoop
from sim.network.side import Side
from sim.network.surroundings import Address


class AcceptQueue:
    """One listening socket of one incarnation. `take_file` raises where there is no descriptor."""

    def __init__(
        self,
        context: Context,
        address: Address,
        *,
        is_local: bool,
        loop: VirtualLoop,
        on_close: Callable[["AcceptQueue"], None],
        take_file: Callable[[str, str], None],
    ) -> None:
        self.context = context
        self.incarnation = context.get(HOST, "")
        self.address = address
        self.is_local = is_local
        self.is_open = True
        self._loop = loop
        self._on_close = on_close
        self._take_file = take_file
        self._waiting: deque[Side] = deque()
        self._owner: Callable[[], object] | None = None
        self._telling = False

    @property
    def key(self) -> tuple[str, int]:
        """Give the host's name and the port."""
        return name_of(self.incarnation), self.address[1]

    def arrived(self, side: Side) -> None:
        """Put a connection into the queue."""
        self._waiting.append(side)
        self._tell()

    # What an owner does with a socket.

    def getsockname(self) -> Address:
        """Give address and port."""
        return self.address

    def accept(self) -> tuple["Taken", Address]:
        """Take the connection that has waited longest.

        Raises:
            BlockingIOError: nobody waits.
            OSError: there is no descriptor for it.
        """
        if not self._waiting:
            raise BlockingIOError(errno.EAGAIN, "nobody waits")
        self._take_file(self.incarnation, "accept")
        side = self._waiting.popleft()
        return Taken(side), side.get_extra_info("peername")

    def close(self) -> None:
        """Take no more connections; those that wait are reset."""
        if self.is_open:
            self.is_open = False
            self._on_close(self)
            for side in self._waiting:
                side.die(silent=False)
            self._waiting.clear()

    # What the loop asks.

    def watch(self, owner: Callable[[], object] | None) -> bool:
        """Tell this one from now on while somebody waits, or nobody; gives whether somebody was told before."""
        before, self._owner = self._owner, owner
        self._tell()
        return before is not None

    def _tell(self) -> None:
        if self._owner is not None and self._waiting and not self._telling:
            self._telling = True
            self._loop.call_soon(self._told, context=self.context)

    def _told(self) -> None:
        self._telling = False
        if self._owner is not None and self._waiting:
            try:
                self._owner()
            finally:
                self._tell()


class Taken:
    """A connection that was taken and has no protocol yet."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def settimeout(self, seconds: float) -> None:
        """Never block, as everything here."""
        del seconds

    def close(self) -> None:
        """Let go of it."""
        self._side.die(silent=False)

    def serve(self, factory: Callable[[], asyncio.BaseProtocol]) -> tuple[Any, Any]:
        """Hand it to a protocol; gives both.

        Raises:
            ConnectionResetError: its client has gone already.
        """
        if self._side.lost:
            raise ConnectionResetError(errno.ENOTCONN, "its client has gone")
        protocol = factory()
        self._side.begin(protocol)
        return self._side, protocol


def listen_in_world(family: int, address: Any, backlog: int, *, reuse_port: bool) -> socket.socket:
    """Make a socket that listens at the running host; the queue of a world has no end.

    Raises:
        OSError: the port is taken, or the address is not ours.
    """
    del family, backlog, reuse_port
    loop = cast("VirtualLoop", asyncio.get_running_loop())
    # All of a socket that is asked of it.
    return cast("socket.socket", loop.network.listen_for_owner(address[0], address[1]))
