"""multipart/form-data as it comes (RFC 7578): never more of it in memory than one piece and the fields.

Strict on purpose: what is not a form as clients write it is refused. Not here: what the fields mean (`upload.py`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

HEAD_BYTES_MAX = 8 * 1024
"""The headers of one part: a name, a file name, a type."""

PARTS_MAX = 16
"""A file comes with a few fields."""

BOUNDARY_MAX = 70
"""RFC 2046, 5.1.1."""

_BOUNDARY = re.compile(r'multipart/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;"]+))', re.IGNORECASE)
_DISPOSITION = re.compile(rb"content-disposition:[ \t]*form-data[ \t]*(;.*)", re.IGNORECASE)
_PARAMETER = re.compile(rb';[ \t]*+([a-z*-]+)=(?:"((?:[^"\\\r\n]|\\.)*+)"|([^\s";]++))[ \t]*+', re.IGNORECASE)
"""One parameter. .NET quotes only what has to be, and names the file twice (RFC 7578 forbids the second)."""

_ESCAPED = re.compile(rb"\\(.)")


class BadForm(Exception):
    """The body is not a form that we take; the text is fit for the client."""


@dataclass(frozen=True, slots=True)
class PartBegins:
    """A field begins; with `file_name` it is a file."""

    name: str
    file_name: str | None


@dataclass(frozen=True, slots=True)
class PartData:
    """More of the field that has begun."""

    data: bytes


Event = PartBegins | PartData


def boundary_of(content_type: str) -> bytes:
    """Give the boundary that a content type names.

    Raises:
        BadForm: it is no form, or names none.
    """
    match = _BOUNDARY.match(content_type)
    text = "" if match is None else match[1] or match[2]
    if not 1 <= len(text) <= BOUNDARY_MAX or not text.isascii():
        raise BadForm("Send the file as multipart/form-data.")
    return text.encode()


class FormReader:
    """Takes the pieces of one body, gives what they say. `ended`: the form is complete, nothing follows."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._rest = b"\r\n"  # before the first delimiter stands no line end
        self._in_body = False  # else behind a delimiter
        self._parts = 0
        self._began = False
        self.ended = False

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Take the next piece.

        Raises:
            BadForm: as told.
        """
        self._rest += piece
        while not self.ended:
            if not self._began:
                if not self._first():
                    return
            elif self._in_body:
                data, over = self._body()
                if data:
                    yield PartData(data)
                if not over:
                    return
            else:
                begins = self._head()
                if begins is None:
                    return
                yield begins
        self._rest = b""

    def _first(self) -> bool:
        """Find the first delimiter, right at the beginning as all clients write it."""
        if len(self._rest) < len(self._delimiter):
            return False
        if not self._rest.startswith(self._delimiter):
            raise BadForm("The form does not begin with its boundary.")
        self._rest = self._rest[len(self._delimiter) :]
        self._began = True
        return True

    def _body(self) -> tuple[bytes, bool]:
        """Take what is surely data; whether the part is over."""
        at = self._rest.find(self._delimiter)
        if at >= 0:
            data, self._rest = self._rest[:at], self._rest[at + len(self._delimiter) :]
            self._in_body = False
            return data, True
        sure = max(0, len(self._rest) - len(self._delimiter) + 1)
        data, self._rest = self._rest[:sure], self._rest[sure:]
        return data, False

    def _head(self) -> PartBegins | None:
        """Read what stands behind a delimiter: the end, or the head of a part; None: not all of it has come."""
        if self._rest.startswith(b"--"):
            self.ended = True
            return None
        at = self._rest.find(b"\r\n\r\n")
        if at < 0:
            if len(self._rest) > HEAD_BYTES_MAX:
                raise BadForm("The head of a part is too long.")
            return None
        head, self._rest = self._rest[:at], self._rest[at + 4 :]
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise BadForm(f"A form has {PARTS_MAX} fields at most.")
        self._in_body = True
        return _begins(head)


def _begins(head: bytes) -> PartBegins:
    if not head.startswith(b"\r\n") or len(head) > HEAD_BYTES_MAX:
        raise BadForm("The form is not as its boundary says.")
    for line in head.split(b"\r\n"):
        match = _DISPOSITION.fullmatch(line)
        parameters = {} if match is None else _parameters(match[1])
        if b"name" in parameters:
            return PartBegins(_text(parameters[b"name"]), _file_name(parameters))
    raise BadForm("A part of the form has no name.")


def _parameters(text: bytes) -> dict[bytes, bytes]:
    """Read parameters as far as they are such; of several of one name the first counts."""
    found: dict[bytes, bytes] = {}
    at = 0
    while (match := _PARAMETER.match(text, at)) is not None:
        name, quoted, plain = match.groups()
        found.setdefault(name.lower(), plain if quoted is None else _ESCAPED.sub(rb"\1", quoted))
        at = match.end()
    return found


def _file_name(parameters: Mapping[bytes, bytes]) -> str | None:
    """Give the name of the file; None: the part is a field."""
    if b"filename" in parameters:
        return _text(parameters[b"filename"])
    extended = parameters.get(b"filename*")
    return None if extended is None else _text(unquote_to_bytes(extended.rpartition(b"'")[2]))


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
