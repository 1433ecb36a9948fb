"""One HTTP exchange with a vendor or a node.

The engine decides what is asked and how long each phase may take; the adapter owns sockets, pools, framing, TLS.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from ktms.domain.routing.outcome import FailureKind
from ktms.domain.routing.timers import Timers
from ktms.domain.snapshot import Origin


@dataclass(frozen=True, slots=True, eq=False)
class Prologue:
    """The part of a request that is the same for every call to one target; adapters may cache its encoding.

    `path` is the full request target; `headers` exclude Host, Content-Length and hop-by-hop ones.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class UpstreamRequest:
    """One request. `extra_headers` vary by call (traceparent, feature headers). `body` goes out as it is.

    Nobody changes one; it is not frozen because one is made per attempt.
    """

    origin: Origin
    prologue: Prologue
    body: bytes
    timers: Timers
    extra_headers: tuple[tuple[str, str], ...] = ()


class UpstreamFailed(Exception):
    """The exchange did not work out. `detail` is safe to show: no address, no credential, no content."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(f"{kind.value}: {detail}")
        self.kind = kind
        self.detail = detail


class Flow(Enum):
    """What a sink says after each piece."""

    WAITING = "nothing visible yet: the first-token timer goes on"
    FLOWING = "something visible has come: the idle timer takes over"
    CHOKED = "the client cannot take more: stop reading until `pour` is called again"
    ENOUGH = "all that is needed has come: end the exchange"


class BodySink(Protocol):
    """Takes a streamed body piece by piece, synchronously, in the loop turn in which it arrived."""

    def feed(self, data: bytes) -> Flow:
        """Take one piece (never empty); must not raise for anything the peer sent."""
        ...


class UpstreamAnswer(Protocol):
    """The response head, and the right to its body. `close` must be called in the same block."""

    @property
    def status(self) -> int:
        """HTTP status; 1xx never shows."""
        ...

    def header(self, name: str) -> str | None:
        """Value of a response header by lower-case name; the first one where it is repeated."""
        ...

    async def read(self, max_bytes: int) -> bytes:
        """Read the whole body.

        Raises:
            UpstreamFailed: cut, timed out, malformed, or longer than `max_bytes` (TOO_LARGE).
        """
        ...

    async def pour(self, sink: BodySink) -> bool:
        """Feed the sink until the body ends or it says ENOUGH (True), or CHOKED (False: call again).

        Raises:
            UpstreamFailed: cut, timed out or malformed; what came before has been fed.
        """
        ...

    def close(self) -> None:
        """Give the connection back to its pool if the body was read to its end, else close it. Idempotent."""
        ...


STALE_WITHIN_S = 1.0
"""A reused connection that dies without a byte within this died while it was idle; later, the peer was at work."""


class Upstream(Protocol):
    """Dials and asks.

    A reused connection that dies before any response byte, and at once (STALE_WITHIN_S), is replaced by a fresh
    one, once, inside `send`.
    Cancelling any awaiting call closes the connection at once. Redirects are never followed.
    """

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        """Send the request and wait for the response head.

        Raises:
            UpstreamFailed: the head did not come; nothing of the answer has been seen.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
