"""Server-sent events, read as the WHATWG text says (HTML, 9.2.6), in two layers.

`EventCutter` only finds where events end and hands whole ones on as they came: enough for a pass-through.
`EventReader` parses them. Rules: a line ends in LF, CR or CRLF; a CR ends it at once, and an LF that follows is
swallowed, because waiting for it would hold back the last event; bytes may be split anywhere; lines are never cut
at Unicode separators; time is linear in the bytes, whatever the pieces. One step beyond the text: an event at the
end of the stream without its blank line is still taken. Not here: what `data` holds (each dialect).
"""

import re
from dataclasses import dataclass

MAX_EVENT_BYTES = 16 << 20
"""What is held of one unfinished event: above any image or embedding seen, below what hurts a worker."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"(\r\n?+|\n)")
_BLANK_LINE = re.compile(rb"(?:\r\n?+|\n)(?:\r\n?+|\n)")


class EventTooLarge(Exception):
    """The peer sent more than the cap without ending an event."""


class EventCutter:
    """Cuts a stream behind its last blank line. A byte order mark at its start is dropped, all else is kept."""

    __slots__ = ("_after_cr", "_held", "_held_bytes", "_idle", "_last", "_max_bytes", "_start")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: list[bytes] = []  # a list: joining at every piece would be quadratic
        self._held_bytes = 0
        self._last = b""  # the last byte held, where it is a line end
        self._after_cr = False  # the last event ended in a CR: an LF now is its second half
        self._start: bytes | None = b""  # what may become a byte order mark; None once decided
        self._idle = False  # between two events, and nothing to remember

    def feed(self, data: bytes) -> bytes:
        """Take some bytes; all events that are whole now, blank lines included.

        Raises:
            EventTooLarge: more than `max_bytes` without the end of an event.
        """
        if self._idle and data.endswith(b"\n\n") and b"\r" not in data:
            return data
        return self._cut(data)

    def end(self) -> bytes:
        """Take the end of the stream: what was left of it, as a whole event; empty if there was nothing."""
        rest = (self._start or b"") + b"".join(self._held)
        self._held, self._held_bytes, self._last, self._start = [], 0, b"", None
        if not rest.strip(b"\r\n"):
            return b""
        return rest + (b"\n" if rest.endswith(b"\n") else b"\n\n")  # behind a CR the first is its second half

    def _cut(self, data: bytes) -> bytes:
        if self._start is not None:
            data = self._without_mark(self._start + data)
        if self._after_cr and data:
            self._after_cr = False
            if data.startswith(b"\n"):
                data = data[1:]
        cut = _behind_last_event(self._last + data) - len(self._last)
        if cut <= 0:
            self._hold(data)
            return b""
        self._held.append(data[:cut])
        whole = b"".join(self._held)
        self._held, self._held_bytes, self._last = [], 0, b""
        if cut == len(data) and whole.endswith(b"\r"):
            self._after_cr = True
            if whole.endswith(b"\r\n\r"):
                whole += b"\n"  # the half that is still on its way, so that the event leaves as it was written
        self._hold(data[cut:])
        return whole

    def _hold(self, data: bytes) -> None:
        if data:
            self._held.append(data)
            self._held_bytes += len(data)
            self._last = data[-1:] if data[-1:] in _LINE_ENDS else b""
            if self._held_bytes > self._max_bytes:
                raise EventTooLarge
        self._idle = not self._held and not self._after_cr and self._start is None

    def _without_mark(self, data: bytes) -> bytes:
        if len(data) < len(_BOM) and _BOM.startswith(data):
            self._start = data
            return b""
        self._start = None
        return data.removeprefix(_BOM)


_LINE_ENDS = (b"\n", b"\r")


def _behind_last_event(data: bytes) -> int:
    """Where the last blank line ends; 0 where there is none.

    A blank line is a line end right behind another; CRLF is one line end, so CR and LF are no such pair.
    """
    cut = data.rfind(b"\n\n") + 2
    if b"\r" in data:
        cut = max(cut, data.rfind(b"\n\r") + 2, data.rfind(b"\r\r") + 2)
        if cut > 1 and data[cut - 1 : cut + 1] == b"\r\n":
            cut += 1
    return cut if cut > 1 else 0


def split_events(block: bytes) -> list[bytes]:
    """Split what `EventCutter` gave into its events, each with its blank line; stray blank lines are left out."""
    if b"\r" not in block:
        return [event + b"\n\n" for piece in block.split(b"\n\n") if (event := piece.lstrip(b"\n"))]
    events = []
    at = 0
    for blank in _BLANK_LINE.finditer(block):
        event = block[at : blank.end()].lstrip(b"\r\n")
        at = blank.end()
        if event:
            events.append(event)
    return events


def lines_of(event: bytes) -> list[tuple[bytes, bytes]]:
    """Split a whole event into its lines, each with the line end that it has; the blank line is the last."""
    pieces = _LINE_END.split(event)
    return list(zip(pieces[::2], pieces[1::2], strict=False))


def field_of(line: bytes) -> tuple[bytes, bytes]:
    """Name and value of a line; at most one space is taken from the value; a comment has an empty name."""
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event. `data` is UTF-8 as it came; `id` is the last one seen in the stream."""

    type: str
    data: bytes
    id: str


class EventReader:
    """Parses a stream. Comments, unknown fields and `retry` are skipped; an event without `data` is none."""

    __slots__ = ("_cutter", "_id")

    def __init__(self, max_bytes: int = MAX_EVENT_BYTES) -> None:
        self._cutter = EventCutter(max_bytes)
        self._id = ""

    def feed(self, data: bytes) -> list[Event]:
        """Take some bytes; the events that are whole now.

        Raises:
            EventTooLarge: more than the cap without the end of an event.
        """
        return self._events(self._cutter.feed(data))

    def end(self) -> list[Event]:
        """Take the end of the stream; an event that only lacks its blank line is still given."""
        return self._events(self._cutter.end())

    def _events(self, block: bytes) -> list[Event]:
        parsed = [self._event(event) for event in split_events(block)]
        return [event for event in parsed if event is not None]

    def _event(self, event: bytes) -> Event | None:
        data = []
        kind = b""
        for line, _ in lines_of(event):
            name, value = field_of(line)
            if name == b"data":
                data.append(value)
            elif name == b"event":
                kind = value
            elif name == b"id" and b"\0" not in value:
                self._id = value.decode(errors="replace")
        if not data:
            return None
        return Event(kind.decode(errors="replace") or "message", b"\n".join(data), self._id)
