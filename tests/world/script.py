"""The language in which a test says what the mock vendor does with one request.

A script is a sequence of steps, followed in order, once per request. A step that needs a head before it (`chunk`,
`end`) says so by failing the test. When the client leaves, the script ends wherever it stands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.world.events import compact
from tests.world.http_message import SeenRequest

Headers = tuple[tuple[str, str], ...]

SSE = "text/event-stream"
JSON = "application/json"


class Framing(Enum):
    """How the end of a body is told."""

    CHUNKED = "chunked"
    LENGTH = "length"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Head:
    """Send a status line and headers; `length` only for `Framing.LENGTH`."""

    status: int
    content_type: str
    headers: Headers
    framing: Framing
    length: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Send body bytes in the framing of the head, in one write."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Raw:
    """Send bytes as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on when the test opens the gate of this name."""

    gate: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Go on when the test acknowledges what was sent: one acknowledgement lets one of these pass."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Let the loop's time pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class End:
    """End the body cleanly; the connection stays open unless the framing is the close itself."""


@dataclass(frozen=True, slots=True)
class Fin:
    """Close the connection by FIN, wherever the body stands."""


@dataclass(frozen=True, slots=True)
class Rst:
    """Reset the connection; bytes not yet delivered are lost."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Keep the connection open and silent until the client leaves or the world stops."""


Step = Head | Chunk | Raw | Wait | Acknowledged | Pause | End | Fin | Rst | Hold
Script = Sequence[Step] | Callable[[SeenRequest], Sequence[Step]]


def head(
    status: int = 200,
    content_type: str = SSE,
    headers: Headers = (),
    *,
    framing: Framing = Framing.CHUNKED,
    length: int | None = None,
) -> Head:
    """Send a status line and headers; chunked unless told otherwise."""
    assert (length is not None) == (framing is Framing.LENGTH), "a length belongs to its own framing"
    return Head(status, content_type, headers, framing, length)


def chunk(data: bytes) -> Chunk:
    """Send body bytes, usually one event."""
    return Chunk(data)


def raw(data: bytes) -> Raw:
    """Send bytes outside of any framing."""
    return Raw(data)


def wait(gate: str) -> Wait:
    """Wait until the test calls `vendor.open(gate)`."""
    return Wait(gate)


def acknowledged() -> Acknowledged:
    """Wait until the test calls `vendor.acknowledge()` once more."""
    return Acknowledged()


def pause_s(seconds: float) -> Pause:
    """Let time pass."""
    return Pause(seconds)


def end() -> End:
    """End the body cleanly."""
    return End()


def fin() -> Fin:
    """Close by FIN."""
    return Fin()


def rst() -> Rst:
    """Reset."""
    return Rst()


def hold() -> Hold:
    """Stay open and silent."""
    return Hold()


def stream(*events: bytes) -> tuple[Step, ...]:
    """Send a whole healthy stream: head, each event in a write of its own, clean end."""
    return (head(), *(chunk(e) for e in events), end())


def lock_step(*events: bytes) -> tuple[Step, ...]:
    """Send a healthy stream in which event k+1 leaves only after the test acknowledged event k."""
    steps: list[Step] = [head()]
    for e in events:
        steps += [chunk(e), acknowledged()]
    return (*steps, end())


def pieces(*parts: bytes, gap_s: float = 0.002) -> tuple[Step, ...]:
    """Send body parts so far apart that each is a read of its own."""
    steps: list[Step] = []
    for part in parts:
        steps += [chunk(part), pause_s(gap_s)]
    return tuple(steps)


def answer(body: bytes, *, status: int = 200, content_type: str = JSON, headers: Headers = ()) -> tuple[Step, ...]:
    """Send a complete answer that is not streamed."""
    return (
        head(status, content_type, headers, framing=Framing.LENGTH, length=len(body)),
        chunk(body),
        end(),
    )


def status(code: int, headers: Headers = (), body: bytes | None = None) -> tuple[Step, ...]:
    """Send a complete error answer in the vendor's own error shape unless a body is given."""
    shape = {"error": {"message": f"vendor says {code}", "type": "vendor_error", "param": None, "code": None}}
    return answer(compact(shape) if body is None else body, status=code, headers=headers)
