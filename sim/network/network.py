"""The network of a world: hosts, their names and ports, connections between them, and faults.

Rules: who connects or listens is the host of the running context; a connection has two sides, each of which lives
and dies with its own process; it takes one round trip to open; a fault acts from the moment it is set. Descriptors
are those of an incarnation: a process that is started anew has its own.
Not here: TLS, kernels (backlogs, retransmission of data), datagrams.
"""

import asyncio
import errno
import itertools
import socket
from collections.abc import Callable
from contextvars import copy_context
from ipaddress import ip_address

from sim.hosts import HOST, name_of
from sim.loop import VirtualLoop
from sim.network.accept_queue import AcceptQueue
from sim.network.link import WINDOW_BYTES, Link
from sim.network.listeners import Factory, Listener
from sim.network.side import Side
from sim.network.surroundings import Surroundings
from sim.seed import Chance
from sim.trace import Trace

SYN_AGAIN_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 67.0)
"""Waits between the first packets of a connection that nobody answers, as Linux has them: given up after 130 s."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - nothing is bound: the names that mean every address

PORTS = range(32768, 61000)
"""Where free ports are taken from."""


MOVED_BY = 4096
"""Far from the addresses that hosts begin with."""


class Network:
    """All hosts of one world and what lies between them."""

    def __init__(
        self, loop: VirtualLoop, chance: Chance, trace: Trace, *, window_bytes: int = WINDOW_BYTES
    ) -> None:
        self._loop = loop
        self._window_bytes = window_bytes
        self._chance = chance
        self._around = Surroundings(loop, chance, trace, self._gone)
        self._addresses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._listeners: dict[tuple[str, int], Listener | AcceptQueue] = {}
        self._refusing: dict[str, None] = {}
        self._vanished: dict[str, None] = {}
        self._exhausted: dict[str, None] = {}
        self.lacked: Callable[[str, str], object] | None = None
        """Told of each descriptor that a host asked for in vain, and what for."""
        self._sides: dict[tuple[int, bool], Side] = {}  # in the order they were made
        self._connections = itertools.count(1)
        self._ports = itertools.cycle(PORTS)

    def add_host(self, name: str, address: str) -> None:
        """Make a host known; its name and its address both lead to it.

        Raises:
            ValueError: one of the two is taken, or the address is none.
        """
        ip_address(address)
        if name in self._addresses or address in self._names:
            raise ValueError(f"host {name} or address {address} is there already")
        self._addresses[name] = address
        self._names[address] = name

    def link(self, a: str, b: str) -> Link:
        """Give the way from one host to another, always the same object.

        Raises:
            ValueError: a host is not known.
        """
        link = self._links.get((a, b))
        if link is None:
            for name in (a, b):
                if name not in self._addresses:
                    raise ValueError(f"host {name!r} is not known")
            link = self._links[a, b] = Link(self._window_bytes)
        return link

    # For the loop.

    def resolve(self, host: str, port: int) -> list[tuple[str, int]]:
        """Give the addresses of a name; a literal address is its own.

        Raises:
            socket.gaierror: the name is not known.
            OSError: no descriptor is free to ask for it.
        """
        if host not in self._names:
            self._take_file(HOST.get(), "resolve")
        if host in self._addresses:
            return [(self._addresses[host], port)]
        if host in LOOPBACK:
            return [("127.0.0.1", port)]
        try:
            ip_address(host)
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return [(host, port)]

    async def connect(
        self, factory: Factory, host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        """Open a connection from the running host; it takes one round trip.

        Raises:
            ConnectionRefusedError: nobody listens there, or the host refuses.
            TimeoutError: nothing came back within 130 s.
            OSError: the name or the address is not known, or no descriptor is free.
        """
        here = self._here()
        self._take_file(HOST.get(), "connect")
        address = self.resolve(host, port)[0][0]
        there = here if address in LOOPBACK else self._names.get(address)
        if there is None:
            raise OSError(errno.EHOSTUNREACH, f"No route to host {address}")
        out, back = self.link(here, there), self.link(there, here)
        for pause_s in SYN_AGAIN_S:
            if not (out.black_hole or back.black_hole or here in self._vanished or there in self._vanished):
                break
            await asyncio.sleep(pause_s)
        else:
            raise TimeoutError(errno.ETIMEDOUT, f"Connect call failed {(address, port)}")
        await asyncio.sleep(out.travel_s(self._chance) + back.travel_s(self._chance))
        listener = self._listeners.get((there, port))
        local_only = listener is not None and listener.is_local and here != there
        if listener is None or local_only or there in self._refusing:
            raise ConnectionRefusedError(errno.ECONNREFUSED, f"Connect call failed {(address, port)}")
        return self._open(factory, listener, out, back, (address, port))

    def listen(self, factory: Factory, host: str | None, port: int) -> Listener:
        """Open a port of the running host; 0 asks for a free one.

        Raises:
            OSError: it is taken, or the address is not one of this host.
        """
        address, is_local = self._free_address(host, port)
        listener = Listener(
            factory, copy_context(), address, is_local=is_local, loop=self._loop, on_close=self._unlisten
        )
        self._listeners[listener.key] = listener
        return listener

    def listen_for_owner(self, host: str | None, port: int) -> AcceptQueue:
        """Open a port of the running host whose owner takes connections itself; 0 asks for a free one.

        Raises:
            OSError: it is taken, or the address is not one of this host.
        """
        address, is_local = self._free_address(host, port)
        queue = AcceptQueue(
            copy_context(),
            address,
            is_local=is_local,
            loop=self._loop,
            on_close=self._unlisten,
            take_file=self._take_file,
        )
        self._listeners[queue.key] = queue
        return queue

    def close(self) -> None:
        """End with the world: nobody is told anything any more."""
        for side in tuple(self._sides.values()):
            side.be_over()

    # Faults.

    def refuse(self, host: str, on: bool) -> None:
        """Let connects to this host fail with ConnectionRefusedError, after one round trip."""
        _switch(self._refusing, host, on)

    def move(self, host: str) -> None:
        """Give a host another address: its connections are cut, and nothing is at the old one any more."""
        self.reset_all(host)
        old = ip_address(self._addresses[host])
        new = str(old + MOVED_BY)
        del self._names[str(old)]
        self._addresses[host], self._names[new] = new, host

    def black_hole(self, a: str, b: str, on: bool) -> None:
        """Hold all that is sent from one host to another; when it ends, it is sent in order.

        A connect needs both ways; it sends its first packet again and again and gives up after 130 s.
        """
        link = self.link(a, b)
        if on:
            link.black_hole = True
        else:
            link.heal()

    def partition(self, a: str, b: str, on: bool) -> None:
        """Black-hole both ways."""
        self.black_hole(a, b, on)
        self.black_hole(b, a, on)

    def exhaust(self, incarnation: str) -> None:
        """Let this process have no new descriptor: none to connect, to take a connection, to look a name up."""
        self._exhausted[incarnation] = None

    def relieve(self, host: str) -> None:
        """Let every process of this host have descriptors again."""
        self._exhausted = {each: None for each in self._exhausted if name_of(each) != host}

    def reset_all(self, host: str) -> None:
        """Reset every connection of this host, now, at both sides; what was under way is lost."""
        for side in self._of(host):
            self.reset(side)

    def reset(self, transport: asyncio.BaseTransport) -> None:
        """Reset one connection, now, at both sides; what was under way is lost.

        Raises:
            TypeError: the transport is none of this network.
        """
        if not isinstance(transport, Side):
            raise TypeError(f"{transport!r} is no connection of the simulated network")
        transport.break_off()
        transport.peer.break_off()

    def vanish(self, host: str, on: bool = True) -> None:
        """Let the host be gone without FIN or RST: its connections stay silent, connects hang meanwhile."""
        _switch(self._vanished, host, on)
        if on:
            for side in self._of(host):
                side.silence()
                side.peer.silence()

    def crash(self, incarnation: str, *, silent: bool = False) -> None:
        """Take a killed process off the network: ports closed, peers reset, or untold if the machine is gone too.

        The process itself is killed with `loop.crash`.
        """
        for listener in [each for each in self._listeners.values() if each.incarnation == incarnation]:
            listener.close()
        for side in [each for each in self._sides.values() if each.incarnation == incarnation]:
            side.die(silent=silent)

    # Questions.

    def open_of(self, host: str) -> int:
        """Count the connections that processes of this host have open."""
        return len(self._of(host))

    def accepted_of(self, host: str) -> int:
        """Count the open connections that others made to this host, and that it has taken."""
        return sum(not side.is_caller and side.has_begun for side in self._of(host))

    def buffered_bytes_of(self, host: str) -> int:
        """Count the bytes that this host has written to open connections and that nobody has taken."""
        return sum(side.pending_bytes for side in self._of(host))

    def _gone(self, key: tuple[int, bool]) -> None:
        self._sides.pop(key, None)

    def _of(self, host: str) -> list[Side]:
        return [side for side in self._sides.values() if side.host == host]

    def _here(self) -> str:
        here = name_of(HOST.get())
        if here not in self._addresses:
            raise ValueError(f"{here!r} is no host of the network: start the task with loop.start_on")
        return here

    def _free_address(self, host: str | None, port: int) -> tuple[tuple[str, int], bool]:
        """Give where the running host can listen, and whether only the host itself can reach it there."""
        here = self._here()
        own = self._addresses[here]
        if not (host is None or host in ANY or host in LOOPBACK or host in {here, own}):
            raise OSError(errno.EADDRNOTAVAIL, f"cannot assign requested address {host!r} on {here}")
        if port == 0:
            port = next(port for port in self._ports if (here, port) not in self._listeners)
        if (here, port) in self._listeners:
            raise OSError(errno.EADDRINUSE, f"address already in use: port {port} of {here}")
        is_local = host in LOOPBACK
        return ("127.0.0.1" if is_local else own, port), is_local

    def _take_file(self, incarnation: str, what: str) -> None:
        if incarnation in self._exhausted:
            if self.lacked is not None:
                self.lacked(name_of(incarnation), what)
            raise OSError(errno.EMFILE, "Too many open files")

    def _unlisten(self, listener: Listener | AcceptQueue) -> None:
        if self._listeners.get(listener.key) is listener:
            del self._listeners[listener.key]

    def _open(
        self, factory: Factory, listener: Listener | AcceptQueue, out: Link, back: Link, there: tuple[str, int]
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        number = next(self._connections)
        context = copy_context()
        own = self._addresses[name_of(context[HOST])] if there[0] not in LOOPBACK else there[0]
        here = (own, next(self._ports))
        caller = Side(self._around, number, context, out, (here, there), is_caller=True)
        called = Side(self._around, number, listener.context, back, (there, here), is_caller=False)
        caller.peer, called.peer = called, caller
        self._sides[caller.key], self._sides[called.key] = caller, called
        accepted_at = self._loop.time() + out.travel_s(self._chance)
        caller.wait_for(accepted_at)
        self._loop.deliver_at(accepted_at, self._accept, listener, called, context=listener.context)
        protocol = factory()
        caller.begin(protocol)
        return caller, protocol

    def _accept(self, listener: Listener | AcceptQueue, side: Side) -> None:
        if not listener.is_open or side.lost:
            self.reset(side)
            return
        listener.arrived(side)


def _switch(those: dict[str, None], host: str, on: bool) -> None:
    if on:
        those[host] = None
    else:
        those.pop(host, None)
