"""Which of the two routes a request head is for, decided on its raw bytes; anything unusual is refused.

Rules: the target's bytes before a question mark are one of two byte strings, or nothing is served: nothing is
decoded, cleaned or compared in another form than it came in. What is served is a `Route`, so nothing of a head
can reach an engine. Every refusal here ends its connection: another parser on the way may see another end of the
request.
Not here: who asks (`token.py`), what is in the body (`body.py`), the framing of bodies (aiohttp,
`connection.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ktms.domain.errors import ErrorCode
from ktms.node.filter.refused import Refused, refused

HEADERS_MAX = 64
"""The gateway sends six, the edge of a tunnel adds a dozen."""

LENGTH_DIGITS_MAX = 20
"""Enough for 64 bits; `int` refuses digits by the thousand."""


class Route(StrEnum):
    """All that there is."""

    CHAT = "chat"
    MODELS = "models"


@dataclass(frozen=True, slots=True)
class Head:
    """A request head as it came; names and values of headers are bytes."""

    method: bytes
    target: bytes
    version: tuple[int, int]
    headers: Sequence[tuple[bytes, bytes]]


_ROUTES = {
    b"/v1/chat/completions": (b"POST", Route.CHAT),
    b"/v1/models": (b"GET", Route.MODELS),
}
_TARGET = re.compile(rb"/[!-\"$->@-~]*(?:\?[!-\"$-~]*)?")  # visible ASCII without `#`; one path, one query
_LENGTH = re.compile(rb"[0-9]{1,%d}" % LENGTH_DIGITS_MAX)
_ONCE = frozenset(
    {
        b"authorization",
        b"connection",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"expect",
        b"host",
        b"transfer-encoding",
    }
)

Fields = dict[bytes, bytes]


def route_of(head: Head) -> Route | Refused:
    """Give the route of a head, or why it has none."""
    if head.version != (1, 1):
        return _odd("Speak HTTP/1.1.")
    if _TARGET.fullmatch(head.target) is None:
        return _odd("Send the path alone as the request target, in visible ASCII characters.")
    found = _ROUTES.get(head.target.partition(b"?")[0])
    if found is None:
        message = "There is no such route: a node has POST /v1/chat/completions and GET /v1/models."
        return refused(ErrorCode.NOT_FOUND, message, ends=True)
    method, route = found
    if head.method != method:
        allowed = method.decode()
        allow = (("Allow", allowed),)
        return refused(ErrorCode.METHOD_NOT_ALLOWED, f"This route takes {allowed}.", ends=True, headers=allow)
    fields = _fields(head)
    if isinstance(fields, Refused):
        return fields
    return _odd_fields(fields, route) or route


def _fields(head: Head) -> Fields | Refused:
    """Give the headers by name; one that says where a message ends, or who asks, is there once."""
    if len(head.headers) > HEADERS_MAX:
        return _odd(f"Send at most {HEADERS_MAX} headers.")
    fields: Fields = {}
    for name, value in head.headers:
        lowered = name.lower()
        if lowered in _ONCE and lowered in fields:
            return _odd("A header that may be there once is there twice.")
        fields[lowered] = value
    return fields


def _odd_fields(fields: Fields, route: Route) -> Refused | None:
    if b"host" not in fields:
        return _odd("Send one Host header.")
    if b"origin" in fields:  # a page in a browser, perhaps by a name that was bound again to this machine
        return refused(ErrorCode.INVALID_REQUEST, "Browsers are not served.", status=403, ends=True)
    if b"upgrade" in fields or b"http2-settings" in fields or b"upgrade" in _lower(fields, b"connection"):
        return _odd("No other protocol is spoken here.")
    if _lower(fields, b"expect") not in {b"", b"100-continue"}:
        message = "The only expectation met is 100-continue."
        return refused(ErrorCode.EXPECTATION_FAILED, message, ends=True)
    return _odd_framing(fields, route)


def _odd_framing(fields: Fields, route: Route) -> Refused | None:
    if _lower(fields, b"content-encoding") not in {b"", b"identity"}:
        message = "Send the body without Content-Encoding."
        return refused(ErrorCode.UNSUPPORTED_ENCODING, message, ends=True)
    coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
    if coding is not None and (coding.lower() != b"chunked" or length is not None):
        return _odd("Say the length of the body in one way: Content-Length, or the coding chunked.")
    if length is not None and _LENGTH.fullmatch(length) is None:
        return _odd("Content-Length must be a number.")
    if route is Route.MODELS and (coding is not None or int(length or b"0") > 0):
        return _odd("This route takes no body.")
    return None


def _lower(fields: Fields, name: bytes) -> bytes:
    return fields.get(name, b"").strip(b" \t").lower()


def _odd(message: str) -> Refused:
    return refused(ErrorCode.INVALID_REQUEST, message, ends=True)
