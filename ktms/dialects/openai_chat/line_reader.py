"""A file split into its lines as it comes, in any pieces: where each begins, how long it is, what it says.

Rules: lines end with LF or CR LF, the last one with the file too; lines of blanks are counted and not given; a
byte order mark is no text; of a line beyond the limit nothing is kept, it is only measured. Linear in the file,
and what is blank costs next to nothing: a file may consist of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\n"
_BLANK_LINES = re.compile(rb"(?:[ \t\r]*+\n)++")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One line: `number` counts from 1; `text` is None where it is longer than the limit."""

    number: int
    start: int
    size_bytes: int
    text: bytes | None


class LineReader:
    """Takes pieces of one file, gives lines."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._number = 0
        self._start = 0
        self._size = 0
        self._parts: list[bytes] = []

    def feed(self, piece: bytes) -> Iterator[FileLine]:
        """Take the next piece and give the lines that end in it."""
        at = self._past_blanks(piece, 0)
        while (end := piece.find(b"\n", at)) >= 0:
            self._keep(piece[at:end])
            yield from self._ended()
            self._start += self._size + 1
            self._size, self._parts = 0, []
            at = self._past_blanks(piece, end + 1)
        self._keep(piece[at:])

    def end(self) -> Iterator[FileLine]:
        """Take the end of the file and give its last line, where it has no end of its own."""
        yield from self._ended()

    @property
    def held_bytes(self) -> int:
        """How long the line is that has not ended yet."""
        return self._size

    def _past_blanks(self, piece: bytes, at: int) -> int:
        """Count the lines of blanks that stand here, where a line begins; gives where they end."""
        blanks = None if self._size else _BLANK_LINES.match(piece, at)
        if blanks is None:
            return at
        self._number += piece.count(b"\n", at, blanks.end())
        self._start += blanks.end() - at
        return blanks.end()

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._max_bytes:
            self._parts = []
        elif part:
            self._parts.append(part)

    def _ended(self) -> Iterator[FileLine]:
        self._number += 1
        if self._size > self._max_bytes:
            yield FileLine(self._number, self._start, self._size, None)
            return
        text = b"".join(self._parts)
        start, size = self._start, self._size
        if start == 0 and text.startswith(_BOM):
            text, start, size = text[len(_BOM) :], len(_BOM), size - len(_BOM)
        if text.strip(_BLANKS):
            yield FileLine(self._number, start, size, text)
