"""What a fake vendor or node does with one request, step by step; the same for both levels of a world.

A behaviour is a generator of steps, advanced as they are carried out: on a transport of the simulated network (L2)
or handed straight to the gateway's upstream port (L1). When the gateway leaves, the generator is closed where it
stands. At its end the answer is complete.
"""

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

SSE = "text/event-stream"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Head:
    """The response head. `length` None: chunked; negative: the body ends with the connection."""

    status: int = 200
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of the body, in one write. `says` is the text in it that a client can see."""

    data: bytes
    says: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes outside of any framing; at L1 they break the exchange as malformed."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing for a while."""

    seconds: float


class How(Enum):
    """How a connection ends."""

    FIN = "fin"
    RST = "rst"


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection ends here, before the head or in the middle of the body."""

    how: How = How.FIN


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing more, for as long as anybody waits."""


Step = Head | Piece | Raw | Pause | Cut | Silence
Steps = Generator[Step, None, None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as a fake reads it. `call` is the client's number in the prompt, empty where there is none.

    `exchange` numbers the requests at all targets of a world; `members` are those of the JSON body.
    """

    exchange: int
    call: str
    path: str
    model: str
    streamed: bool
    usage_asked: bool
    max_tokens: int | None
    members: dict[str, object]
    headers: tuple[tuple[str, str], ...]
