"""From a request to the bytes of its head.

The prologue of a target is the same for every call, so its bytes are made once and kept by identity.
Not here: the body, which goes out as it is.
"""

import re
from dataclasses import dataclass
from typing import NewType

from ktms.domain.snapshot import Origin, OriginKey, Reach
from ktms.ports.upstream import Prologue, UpstreamRequest

LaneKey = NewType("LaneKey", tuple[OriginKey, Reach])
"""What makes two requests share connections. The reach is part of it: a connection that was allowed for a node
must never serve a vendor that may only be public."""

PROLOGUES_MAX = 4096
"""Twice the targets of a large catalogue (old and new snapshot); the oldest goes first."""

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_TARGET = re.compile(r"/[!-~]*").fullmatch
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*").fullmatch
_HOST = re.compile(r"[0-9A-Za-z._:-]+").fullmatch
_OURS = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
    }
)
"""Framing and hop-by-hop headers: only this adapter may say them (RFC 9110, 7.6.1)."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _Prepared:
    origin: Origin
    lane: LaneKey
    start: bytes


class RequestHeads:
    """Makes heads; keeps the constant part of each for as long as its prologue is in use."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[Prologue, _Prepared] = {}

    def head(self, request: UpstreamRequest) -> tuple[LaneKey, bytes]:
        """Give the lane of the request and the bytes of its head.

        Raises:
            ValueError: a header or the path cannot stand in a head; the caller's mistake.
        """
        prologue = request.prologue
        prepared = self._known.get(prologue)
        if prepared is None or prepared.origin is not request.origin:
            prepared = self._prepare(request.origin, prologue)
        extra = b"".join([_line(name, value) for name, value in request.extra_headers])
        body = request.body
        if not body and prologue.method == "GET":
            return prepared.lane, b"%b%b\r\n" % (prepared.start, extra)
        return prepared.lane, b"%b%bContent-Length: %d\r\n\r\n" % (prepared.start, extra, len(body))

    def _prepare(self, origin: Origin, prologue: Prologue) -> _Prepared:
        if not (_TOKEN(prologue.method) and _TARGET(prologue.path) and _HOST(origin.host)):
            raise ValueError("the method, the path or the host cannot stand in a request line")
        lines = [_line(name, value) for name, value in prologue.headers if name.lower() != "accept-encoding"]
        start = b"%b %b HTTP/1.1\r\nHost: %b\r\nAccept-Encoding: identity\r\n%b" % (
            prologue.method.encode("ascii"),
            prologue.path.encode("ascii"),
            _authority(origin).encode("ascii"),
            b"".join(lines),
        )
        prepared = _Prepared(origin, LaneKey((origin.key, origin.reach)), start)
        if len(self._known) >= PROLOGUES_MAX:
            del self._known[next(iter(self._known))]
        self._known[prologue] = prepared
        return prepared


def _authority(origin: Origin) -> str:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if _DEFAULT_PORTS.get(origin.scheme) == origin.port else f"{host}:{origin.port}"


def _line(name: str, value: str) -> bytes:
    if _TOKEN(name) is None or _VALUE(value) is None or name.lower() in _OURS:
        raise ValueError(f"the header {name!r} cannot be sent")
    return f"{name}: {value}\r\n".encode("latin-1")
