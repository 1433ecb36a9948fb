"""One call as the engine sees it, and the three ways it can end.

Shapes only; `switchboard.py` is the life of a call.
"""

from dataclasses import dataclass

from ktms.dialects.openai_chat.request import RequestBody
from ktms.domain.call import Choices, Route
from ktms.domain.errors import Problem
from ktms.domain.ids import RequestId

Headers = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Call:
    """What a door hands over: the key as sent, the facts, the bytes. `received_at` is monotonic seconds.

    `forwarded` are the request headers that may travel to an upstream (traceparent, feature headers).
    """

    request_id: RequestId
    route: Route
    token: str
    header: Choices
    body: RequestBody
    received_at: float
    forwarded: Headers = ()


@dataclass(frozen=True, slots=True)
class Whole:
    """A complete answer of a target: 200, JSON."""

    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """The call failed before anything was sent; the door writes the problem in the client's dialect."""

    headers: Headers
    problem: Problem


@dataclass(frozen=True, slots=True)
class Streamed:
    """The answer went out through the client port and has ended; `problem` is its error event, if any."""

    problem: Problem | None = None


Result = Whole | Failed | Streamed
