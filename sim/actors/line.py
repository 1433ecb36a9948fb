"""The way from a client to a gateway: a connection of the simulated network, or straight to the doors.

Both carry one request after the other and give the answer as bytes; leaving is possible in every way a client
leaves. Not here: when to leave (`caller.py`).
"""

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from sim.actors.answer import Answer
from sim.actors.request import Request


class Line(Protocol):
    """One way to one gateway."""

    def ask(self, request: Request, answer: Answer) -> None:
        """Send a request; what comes back is fed into the answer."""
        ...

    def stop_reading(self) -> None:
        """Take no more bytes."""
        ...

    def read_on(self) -> None:
        """Take bytes again."""
        ...

    def leave(self, how: str) -> None:
        """Go away by fin, rst or vanish; harmless when the line is gone."""
        ...


class WireLine(asyncio.Protocol):
    """A connection. `vanish` makes its host fall silent; `reset` sends an RST."""

    def __init__(self, reset: Callable[[asyncio.BaseTransport], None], vanish: Callable[[], None]) -> None:
        self._reset = reset
        self._vanish = vanish
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Hand bytes on."""
        if self._answer is not None:
            self._answer.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the answer under way."""
        del exc
        self._transport = None
        if self._answer is not None:
            self._answer.connection_lost()

    @property
    def usable(self) -> bool:
        """Whether another request may be sent here."""
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, request: Request, answer: Answer) -> None:
        """See `Line`."""
        self._answer = answer
        if self._transport is None:
            answer.connection_lost()
        else:
            self._transport.write(request.encoded())

    def stop_reading(self) -> None:
        """See `Line`."""
        if self._transport is not None:
            self._transport.pause_reading()

    def read_on(self) -> None:
        """See `Line`."""
        if self._transport is not None:
            self._transport.resume_reading()

    def leave(self, how: str) -> None:
        """See `Line`."""
        if self._transport is None:
            return
        if how == "rst":
            self._reset(self._transport)
        elif how == "vanish":
            self._vanish()
        else:
            self._transport.close()
