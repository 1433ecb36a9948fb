"""One side of a connection: the transport a protocol writes to, and what the wire brings it.

The window counts the bytes that the peer's protocol has not taken; what is beyond it stays in the write buffer, so
a slow reader is felt. As with a real socket: closing with unread bytes resets, so do bytes for a closed side;
aborting drops what has not left and ends with FIN. Unlike one: a reset is told at once, even to who does not read.
Every callback of a protocol runs in the context of its side, so it is lost or held with its process.
Not here: connecting and faults (`network.py`).
"""

import asyncio
import errno
from collections import deque
from collections.abc import Iterable
from contextvars import Context

from sim.hosts import HOST, name_of
from sim.network.link import HIGH_BYTES, Link
from sim.network.surroundings import Address, Parcel, Sign, Surroundings


class Side(asyncio.Transport):
    """The transport of one side. `connection` numbers both sides of a connection alike."""

    peer: "Side"

    def __init__(
        self,
        around: Surroundings,
        connection: int,
        context: Context,
        link: Link,
        addresses: tuple[Address, Address],  # of its own and of its peer
        *,
        is_caller: bool,
    ) -> None:
        super().__init__({"sockname": addresses[0], "peername": addresses[1]})
        self.is_caller = is_caller
        self.connection = connection
        self.context = context
        self.incarnation = context.get(HOST, "")
        self.host = name_of(self.incarnation)
        self.link = link
        self.in_flight_bytes = 0
        self.lost = False  # no callback will come any more
        self._around = around
        self._loop = around.loop
        self._protocol: asyncio.Protocol | None = None
        self._high = min(HIGH_BYTES, link.window_bytes // 4)
        self._low = self._high // 4
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._held: deque[Parcel] = deque()
        self._unread: deque[Parcel] = deque()
        self._arrived_at = 0.0
        self._reading = True
        self._writer_paused = False
        self._pump_due = False
        self._closing = False
        self._ending = False  # connection_lost is on its way, or has come
        self._eof_asked = False
        self._eof_sent = False
        self._broken = False  # reset: what is still under way is lost
        self._mute = False  # half open

    def __repr__(self) -> str:
        return f"<Side of connection {self.connection} at {self.host}>"

    # What protocols use.

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand the side to a protocol.

        Raises:
            TypeError: it is no `asyncio.Protocol`; buffered ones are not needed here.
        """
        if not isinstance(protocol, asyncio.Protocol):
            raise TypeError(f"the simulated network needs an asyncio.Protocol, not {protocol!r}")
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Give the protocol."""
        assert self._protocol is not None
        return self._protocol

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._closing

    def is_reading(self) -> bool:
        """Whether bytes are taken from the wire."""
        return self._reading and not self._closing

    def pause_reading(self) -> None:
        """Leave bytes with the wire."""
        self._reading = False

    def resume_reading(self) -> None:
        """Take bytes again."""
        if not self._reading and not self._closing:
            self._reading = True
            if self._unread:
                self._loop.call_soon(self._read_on, context=self.context)

    def get_write_buffer_size(self) -> int:
        """Give the bytes that do not fit into the window."""
        return self._unsent_bytes

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Give the low and the high mark."""
        return self._low, self._high

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the marks as asyncio does: low is a quarter of high unless given, high four times low.

        Raises:
            ValueError: low lies above high, or below 0.
        """
        if high is None:
            high = HIGH_BYTES if low is None else 4 * low
        if low is None:
            low = high // 4
        if not high >= low >= 0:
            raise ValueError(f"high ({high!r}) must be >= low ({low!r}) must be >= 0")
        self._high, self._low = high, low
        self._pause_writer_if_full()

    def can_write_eof(self) -> bool:
        """Say yes."""
        return True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, or keep them until there is room.

        Raises:
            RuntimeError: the end was written before.
        """
        if self._closing or not data:
            return
        if self._eof_asked:
            raise RuntimeError("Cannot call write() after write_eof()")
        parcel = bytes(data)
        if not self._unsent and self.in_flight_bytes + len(parcel) <= self.link.window_bytes:
            self._send(parcel)
            return
        self._unsent.append(parcel)
        self._unsent_bytes += len(parcel)
        self._fill_window()
        self._pause_writer_if_full()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Send several pieces as one."""
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        """Say that no more bytes come; bytes may still be read."""
        if not self._eof_asked and not self._closing:
            self._eof_asked = True
            self._finish_if_flushed()

    def close(self) -> None:
        """Send what is left, then end; nothing more is read."""
        if not self._closing:
            self._closing = True
            self._eof_asked = True
            self._finish_if_flushed()

    def abort(self) -> None:
        """End now and drop what has not left."""
        if not self._ending:
            self._closing = self._eof_asked = True
            self._drop_unsent()
            self._finish_if_flushed()

    # What the network uses.

    @property
    def key(self) -> tuple[int, bool]:
        """Give what tells it from all other sides."""
        return self.connection, self.is_caller

    @property
    def pending_bytes(self) -> int:
        """Bytes written and not yet taken by the peer's protocol."""
        return self._unsent_bytes + self.in_flight_bytes

    @property
    def has_begun(self) -> bool:
        """Whether somebody has taken it."""
        return self._protocol is not None

    def begin(self, protocol: asyncio.BaseProtocol) -> None:
        """Introduce the two; what came before waits until the loop's next round."""
        self.set_protocol(protocol)
        protocol.connection_made(self)
        if self._unread and self._reading:
            self._loop.call_soon(self._read_on, context=self.context)

    def wait_for(self, at: float) -> None:
        """Let nothing arrive at the peer before this instant."""
        self._arrived_at = max(self._arrived_at, at)

    def break_off(self) -> None:
        """Reset, here and now: what is under way to this side is lost. One that is half open stays so."""
        if not (self._broken or self._mute or self.lost):
            self._broken = True
            self._loop.call_soon(self._take_reset, context=self.context)

    def refuse(self) -> None:
        """Answer a packet that nobody wants."""
        self._send(Sign.RST)

    def silence(self) -> None:
        """Be half open from now on: nothing leaves, nothing arrives, and nobody is told."""
        self._mute = True

    def be_over(self) -> None:
        """End with the world: say nothing more, to nobody."""
        self.silence()
        self._drop_unsent()
        self._forget()

    def die(self, *, silent: bool) -> None:
        """Vanish with its process: no callback; the kernel resets the connection, unless the machine is gone."""
        if silent:
            self.silence()
            self.peer.silence()
        elif not self._eof_sent or not self._ending:
            self._send(Sign.RST)
        self._drop_unsent()
        self._forget()

    # The way out.

    def _send(self, parcel: Parcel) -> None:
        if isinstance(parcel, bytes):
            self.in_flight_bytes += len(parcel)
        if self._mute:
            return
        if self.link.black_hole:
            if not self._held:
                self.link.when_healed.append(self._release)
            self._held.append(parcel)
            return
        self._launch(parcel)

    def _release(self) -> None:
        """Send what the black hole has kept."""
        held, self._held = self._held, deque()
        for parcel in held:
            self._launch(parcel)

    def _launch(self, parcel: Parcel) -> None:
        link, chance, loop, peer = self.link, self._around.chance, self._loop, self.peer
        pieces: Iterable[Parcel] = (parcel,)
        if link.slice_max_bytes and isinstance(parcel, bytes):
            pieces = link.sliced(parcel, chance)
        for piece in pieces:
            size = len(piece) if isinstance(piece, bytes) else 0
            at = link.arrives_at(loop.time(), size, chance)
            self._arrived_at = at = max(at, self._arrived_at)  # TCP keeps the order, whatever the jitter
            loop.deliver_at(at, peer.land, piece, context=peer.context)

    def _fill_window(self) -> None:
        unsent = self._unsent
        while unsent and (room := self.link.window_bytes - self.in_flight_bytes) > 0:
            parcel = unsent.popleft()
            if len(parcel) > room:
                unsent.appendleft(parcel[room:])
                parcel = parcel[:room]
            self._unsent_bytes -= len(parcel)
            self._send(parcel)

    def _pause_writer_if_full(self) -> None:
        if self._unsent_bytes > self._high and not self._writer_paused and self._protocol is not None:
            self._writer_paused = True
            self._protocol.pause_writing()

    def _taken(self, size_bytes: int) -> None:
        """Take note that the peer's protocol took bytes: there is room."""
        self.in_flight_bytes -= size_bytes
        if self._unsent and not self._pump_due and not self.lost:
            self._pump_due = True
            self._loop.call_soon(self._pump, context=self.context)

    def _pump(self) -> None:
        self._pump_due = False
        if self.lost or self._ending:
            return
        self._fill_window()
        if self._writer_paused and self._unsent_bytes <= self._low:
            self._writer_paused = False
            self.get_protocol().resume_writing()
        self._finish_if_flushed()

    def _finish_if_flushed(self) -> None:
        if self._unsent or self._ending:
            return
        if self._eof_asked and not self._eof_sent:
            self._eof_sent = True
            self._send(Sign.RST if self._closing and self._has_unread() else Sign.FIN)
        elif self._closing and self._has_unread():
            self._send(Sign.RST)
        if self._closing:
            self._end(None)

    def _has_unread(self) -> bool:
        return any(isinstance(parcel, bytes) for parcel in self._unread)

    def _drop_unsent(self) -> None:
        self._unsent.clear()
        self._unsent_bytes = 0

    # The way in.

    def land(self, parcel: Parcel) -> None:
        """Take what the wire brings."""
        if self._mute or self._broken:
            return
        if parcel is Sign.RST:
            if not self._ending:
                self._broken = True
                self._take_reset()
        elif self._ending:
            if isinstance(parcel, bytes):
                self._broken = True  # one reset says it all
                self.refuse()
        elif self._unread or not self._reading or self._closing or self._protocol is None:
            self._unread.append(parcel)
        else:
            self._take(parcel)

    def _read_on(self) -> None:
        """Take what came while reading was paused; as from a socket, in one piece."""
        while self._unread and self._reading and not self._closing:
            if isinstance(self._unread[0], Sign):
                self._take(self._unread.popleft())
                continue
            parts: list[bytes] = []
            while self._unread and isinstance(part := self._unread[0], bytes):
                parts.append(part)
                self._unread.popleft()
            self._take(b"".join(parts))

    def _take(self, parcel: Parcel) -> None:
        protocol = self._protocol
        assert protocol is not None
        try:
            if isinstance(parcel, bytes):
                self._note(parcel)
                self.peer._taken(len(parcel))  # noqa: SLF001 - the other end of the same wire
                protocol.data_received(parcel)
            else:
                self._note(parcel.value)
                if not protocol.eof_received():
                    self.close()
        except Exception as error:  # noqa: BLE001 - asyncio's contract: reported, and the connection ends
            self._loop.call_exception_handler({"message": f"Fatal error: protocol of {self}", "exception": error})
            self._closing = self._eof_asked = True
            self._drop_unsent()
            if not self._eof_sent:
                self._send(Sign.FIN)
            self._end(error)

    def _take_reset(self) -> None:
        if self._ending:
            return
        self._note(Sign.RST.value)
        self._closing = True
        self._drop_unsent()
        self._end(ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"))

    def _note(self, data: bytes) -> None:
        self._around.trace.delivered(self._loop.time(), self.connection, self.host, data)

    # The end.

    def _end(self, error: Exception | None) -> None:
        if not self._ending:
            self._ending = True
            self._loop.call_soon(self._tell_lost, error, context=self.context)

    def _tell_lost(self, error: Exception | None) -> None:
        protocol = self._protocol
        self._forget()
        if protocol is not None:
            protocol.connection_lost(error)

    def _forget(self) -> None:
        self.lost = self._ending = self._closing = True
        self._unread.clear()
        self._around.gone(self.key)
