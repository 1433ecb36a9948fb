"""What the test client reads out of a stream of server-sent events.

Deliberately naive: blocks end at a blank line, whatever the line end. Independent of `ktms.dialects.sse`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

_BLANK = re.compile(rb"\r\n\r\n|\n\n|\r\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One block of a stream: its bytes, its joined data (None when it has none), when its last byte arrived."""

    raw: bytes
    data: bytes | None
    name: str | None
    fields: tuple[str, ...]
    at: float

    @property
    def is_comment(self) -> bool:
        """Whether the block holds nothing but comments."""
        return self.data is None and set(self.fields) <= {""}

    @property
    def is_done(self) -> bool:
        """Whether this is OpenAI's end mark."""
        return self.data == b"[DONE]"

    def json(self) -> dict[str, Any]:
        """Decode the data as a JSON object."""
        assert self.data is not None, "a block without data"
        value = json.loads(self.data)
        assert isinstance(value, dict)
        return value


def read_block(raw: bytes, at: float) -> Event:
    """Read one block, its blank line included."""
    data: list[bytes] = []
    name: str | None = None
    fields: list[str] = []
    for line in raw.splitlines():
        if not line:
            continue
        field, _, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        fields.append(field.decode())
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value.decode()
    return Event(raw, b"\n".join(data) if data else None, name, tuple(fields), at)


class EventSplitter:
    """Cuts a byte stream into blocks."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes, at: float) -> list[Event]:
        """Take bytes that arrived at `at`; give the blocks they complete."""
        self._held += data
        events: list[Event] = []
        start = 0
        for match in _BLANK.finditer(self._held):
            events.append(read_block(self._held[start : match.end()], at))
            start = match.end()
        self._held = self._held[start:]
        return events

    @property
    def left(self) -> bytes:
        """Bytes that belong to no complete block."""
        return self._held
