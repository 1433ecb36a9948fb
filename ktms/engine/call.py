"""One call as the engine sees it, and the three ways it can end.

Shapes only; `switchboard.py` is the life of a call.
"""

from dataclasses import dataclass

from ktms.dialects.openai_chat.request import RequestBody
from ktms.domain.access.client_key import ClientKey
from ktms.domain.access.usage_event import BatchLine, UsageEvent
from ktms.domain.call import Choices, Route
from ktms.domain.errors import Problem
from ktms.domain.ids import RequestId

Headers = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class LineRun:
    """What makes a call a line of a batch: which line, whose it is (verified), until when it may wait (monotonic).

    The engine tells by it whether a target was asked, and what its answer is to be booked with: that is done
    together with its result, since a run that comes to nothing is not the client's to pay.
    """

    line: BatchLine
    key: ClientKey
    ends_at: float
    asked: bool = False
    event: UsageEvent | None = None


@dataclass(slots=True)
class Call:
    """What a door hands over: the key as sent, the facts, the bytes. `received_at` is monotonic seconds.

    `forwarded` are the request headers that may travel to an upstream (traceparent, feature headers). `once` is
    the client's word for this call, where it counts on a repeat not being carried out again. `run` makes it a line
    of a batch.
    """

    request_id: RequestId
    route: Route
    token: str
    header: Choices
    body: RequestBody
    received_at: float
    forwarded: Headers = ()
    once: str | None = None
    run: LineRun | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """A complete answer of a target: 200, JSON. `finished`: it says of each choice why it ended."""

    headers: Headers
    body: bytes
    finished: bool = True


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
