"""RESP, the server's side: requests read however they are cut, answers written in either version.

Rules: input is bounded before it is kept; what breaks the framing is an error that ends the connection. The parser
in C (hiredis) is not used here: it has no bound on what it keeps.
"""

from dataclasses import dataclass

LINE_MAX_BYTES = 64 * 1024
ARGUMENTS_MAX = 4096
REQUEST_MAX_BYTES = 2 * 1024 * 1024
"""More than any request of ours, a kept answer of 1 MiB included; Redis itself takes 512 MiB per argument."""

_CRLF = b"\r\n"
_DIGITS_MAX = 20
"""A length of 64 bits has no more; `int` of thousands of digits would raise an error of its own."""


@dataclass(frozen=True, slots=True)
class Status:
    """A simple string."""

    text: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error; its first word is its code."""

    text: bytes


Answer = Status | Refusal | int | bytes | None | list["Answer"] | dict[bytes, "Answer"]

OK = Status(b"OK")


class FramingBroken(Exception):
    """What came is no request; the text goes to the client before the connection ends."""


class RequestReader:
    """Takes bytes as they come and gives whole requests."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._arguments: list[bytes] = []
        self._arguments_left = 0
        self._length: int | None = None
        self._taken_bytes = 0

    @property
    def waiting_bytes(self) -> int:
        """What has come and is no part of a request given so far."""
        return len(self._buffer) + self._taken_bytes

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        self._buffer += data

    def take(self) -> list[bytes] | None:
        """Give the next request, the command first; None while there is more to come.

        Raises:
            FramingBroken: not RESP, or larger than the bounds.
        """
        while not self._arguments_left:
            line = self._line()
            if line is None:
                return None
            if line.startswith(b"*"):
                self._arguments_left = max(0, _number(line, ARGUMENTS_MAX, "multibulk"))
            elif line.strip():
                return line.split()
        while self._arguments_left:
            argument = self._argument()
            if argument is None:
                return None
            self._arguments.append(argument)
            self._arguments_left -= 1
        whole, self._arguments, self._taken_bytes = self._arguments, [], 0
        return whole

    def _argument(self) -> bytes | None:
        if self._length is None:
            line = self._line()
            if line is None:
                return None
            if not line.startswith(b"$"):
                raise FramingBroken(f"expected '$', got {line[:1].decode('latin-1')!r}")
            self._length = _number(line, REQUEST_MAX_BYTES - self._taken_bytes, "bulk")
            if self._length < 0:
                raise FramingBroken("invalid bulk length")
        whole_bytes = self._length + len(_CRLF)
        if len(self._buffer) < whole_bytes:
            return None
        if self._buffer[self._length : whole_bytes] != _CRLF:
            raise FramingBroken("a bulk string is longer than its length")
        argument = bytes(self._buffer[: self._length])
        del self._buffer[:whole_bytes]
        self._taken_bytes += self._length
        self._length = None
        return argument

    def _line(self) -> bytes | None:
        end = self._buffer.find(_CRLF, 0, LINE_MAX_BYTES + len(_CRLF))
        if end < 0:
            if len(self._buffer) > LINE_MAX_BYTES:
                raise FramingBroken("too big a line")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + len(_CRLF)]
        return line


def encode(answer: Answer, version: int) -> bytes:
    """Write an answer as RESP of this version."""
    match answer:
        case Status(text):
            return b"+%b\r\n" % text
        case Refusal(text):
            return b"-%b\r\n" % text
        case int():
            return b":%d\r\n" % answer
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(answer), answer)
        case None:
            return b"_\r\n" if version == 3 else b"$-1\r\n"
        case list():
            return b"*%d\r\n" % len(answer) + b"".join(encode(part, version) for part in answer)
        case dict():
            pairs = b"".join(encode(part, version) for pair in answer.items() for part in pair)
            return (b"%%%d\r\n" % len(answer) if version == 3 else b"*%d\r\n" % (2 * len(answer))) + pairs


def _number(line: bytes, most: int, what: str) -> int:
    digits = line[1:]
    if not digits.lstrip(b"-").isdigit() or len(digits) > _DIGITS_MAX or int(digits) > most:
        raise FramingBroken(f"invalid {what} length")
    return int(digits)
