"""Answers as bytes: the head we write ourselves, whole or streamed.

Response classes of a server would add headers we do not want (Server, names and versions) and a third of the cost
of a call. Rules: header values never hold CR or LF; a streamed body is chunked for HTTP/1.1 and ends with the
connection for HTTP/1.0.
"""

from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus

from ktms.api.inbound import Inbound
from ktms.ports.clock import Clock

Headers = tuple[tuple[str, str], ...]

JSON = "application/json"
_CRLF_TO_SPACE = {10: " ", 13: " ", 0: " "}


class Dates:
    """The Date header (RFC 9110, 6.6.1), made once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._line = ""

    def line(self) -> str:
        """Give the header line of this second."""
        second = int(self._clock.wall())
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n"
        return self._line


@dataclass(slots=True)
class Reply:
    """An answer as bytes. `body` None: it has gone out already. `keeps`: the connection serves another request."""

    status: int
    head: bytes
    body: bytes | None
    keeps: bool


def head_of(status: int, headers: Headers, dates: Dates, *, framing: str, keeps: bool, http10: bool) -> bytes:
    """Write a response head; `framing` is a complete header line or empty."""
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\n", dates.line(), framing]
    lines.extend(f"{name}: {_clean(value)}\r\n" for name, value in headers)
    if not keeps:
        lines.append("Connection: close\r\n")
    elif http10:
        lines.append("Connection: keep-alive\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1", "replace")


def whole(
    request: Inbound,
    dates: Dates,
    status: int,
    body: bytes,
    *,
    headers: Headers = (),
    content_type: str = JSON,
    keeps: bool | None = None,
) -> Reply:
    """Make a complete answer; `keeps` None follows the client's wish.

    The answer to HEAD has no body, whatever its length says (RFC 9110, 9.3.2): one more byte would be taken for
    the next answer.
    """
    stays = request.keep_alive if keeps is None else keeps and request.keep_alive
    framing = f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    head = head_of(status, headers, dates, framing=framing, keeps=stays, http10=is_http10(request))
    return Reply(status, head, b"" if request.method == "HEAD" else body, stays)


def is_http10(request: Inbound) -> bool:
    """Whether the client speaks HTTP/1.0: no chunks, no keep-alive unless asked for."""
    return request.version < (1, 1)


def _clean(value: str) -> str:
    return value.translate(_CRLF_TO_SPACE) if not value.isprintable() else value


_REASONS = {status.value: status.phrase for status in HTTPStatus}
