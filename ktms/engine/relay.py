"""The streamed half of an answer: from the upstream's pieces to the client, observed, never re-written.

Rules (documented in docs/api.md, Streaming): nothing is sent before something visible has come, so an error
before it can still become a status or another target; after it, an error becomes one error event. Every piece is
handed on in the loop turn in which it came. Silence is bridged by comments. The stream belongs to the call, not
to one attempt.
Not here: what counts as visible (`dialects/openai_chat/stream.py`), which target comes next (`switchboard.py`).
"""

import asyncio
from collections.abc import Callable

from ktms.dialects.openai_chat.errors import KEEPALIVE, error_event
from ktms.dialects.openai_chat.stream import DONE, StreamObserver
from ktms.domain.capacity.serving import is_other_model
from ktms.domain.errors import Problem
from ktms.domain.ids import VendorModel
from ktms.engine.call import Headers
from ktms.engine.settings import EngineSettings
from ktms.ports.client import Client
from ktms.ports.clock import Clock
from ktms.ports.upstream import Flow

NAP_MIN_S = 0.001
"""What is left of a pause may be too little to move a clock, and the timer would come again and again for it."""


class ClientStream:
    """The client's stream over all attempts of one call. `close` must be called in the same block."""

    def __init__(
        self, client: Client, settings: EngineSettings, clock: Clock, headers: Callable[[bool], Headers]
    ) -> None:
        self._client = client
        self._clock = clock
        self._headers = headers
        self._comment_s = settings.keepalive_comment_s
        self._written_at = clock.monotonic()
        self.begun = False
        self._ended = False
        self._timer = asyncio.get_running_loop().call_later(settings.hold_status_s, self._bridge_silence)

    def begin(self, *, answering: bool) -> None:
        """Send the status and headers, once; `answering`: a target has begun to answer."""
        if not self.begun:
            self.begun = True
            self._client.begin(self._headers(answering))

    def write(self, data: bytes) -> bool:
        """Send bytes of the answer; False when the client cannot take more."""
        self._written_at = self._clock.monotonic()
        return self._client.write(data)

    def finish(self) -> None:
        """End well: the end mark of the dialect, then the end of the body."""
        self._end(DONE)

    def fail(self, problem: Problem) -> None:
        """End with one error event and no end mark; an answer that has ended already stays as it is."""
        self._end(error_event(problem))

    async def drained(self) -> None:
        """Wait until the client takes bytes again."""
        await self._client.drained()

    def drop(self) -> None:
        """Cut the connection of a client that does not read."""
        self._client.drop()

    def close(self) -> None:
        """Stop the comments."""
        self._timer.cancel()

    def _end(self, last: bytes) -> None:
        if not self._ended:
            self._ended = True
            self._client.write(last)
            self._client.end()

    def _bridge_silence(self) -> None:
        silent_s = self._clock.monotonic() - self._written_at
        if not self.begun or silent_s >= self._comment_s:
            self.begin(answering=False)
            self.write(KEEPALIVE)
            silent_s = 0.0
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(max(self._comment_s - silent_s, NAP_MIN_S), self._bridge_silence)


class Relay:
    """One attempt's pieces on their way to the client: a sink for the upstream.

    `speaks` hears of the first visible one; an engine that names another model than `expects` is not shown (FN5).
    """

    def __init__(
        self,
        stream: ClientStream,
        observer: StreamObserver,
        settings: EngineSettings,
        clock: Clock,
        speaks: Callable[[], None],
        expects: tuple[VendorModel, ...] = (),
    ) -> None:
        self.stream = stream
        self._speaks = speaks
        self._expects = expects
        self._clock = clock
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._held_max_bytes = settings.held_max_bytes
        self._left_bytes = settings.stream_max_bytes
        self.observer = observer
        self.visible = False
        self.first_token_at: float | None = None
        self.overflowed = False
        self.wrong_model = False

    def feed(self, data: bytes) -> Flow:
        """Hand on what is complete; say how the exchange goes on."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            self.overflowed = True
            return Flow.ENOUGH
        return self._hand_on(self.observer.feed(data))

    def end(self) -> None:
        """Take the last event at the end of the upstream's body, should its blank line be missing."""
        self._hand_on(self.observer.end())

    def _hand_on(self, ready: bytes) -> Flow:
        observer = self.observer
        flow = Flow.FLOWING
        if self.visible:
            if ready and not self.stream.write(ready):
                flow = Flow.CHOKED
        elif observer.visible:
            flow = self._show(ready)
        else:
            flow = self._hold(ready)
        if observer.too_large:
            self.overflowed = True
        if observer.done or observer.error is not None or observer.malformed or observer.too_large:
            return Flow.ENOUGH
        return flow

    def _show(self, ready: bytes) -> Flow:
        told = self.observer.model_told
        if told is not None and is_other_model(told, self._expects):
            self.wrong_model = True
            return Flow.ENOUGH
        self.visible = True
        self.first_token_at = self._clock.monotonic()
        self._speaks()
        self.stream.begin(answering=True)
        self._held.append(ready)
        fits = self.stream.write(b"".join(self._held))
        self._held.clear()
        return Flow.FLOWING if fits else Flow.CHOKED

    def _hold(self, ready: bytes) -> Flow:
        if ready:
            self._held.append(ready)
            self._held_bytes += len(ready)
            if self._held_bytes > self._held_max_bytes:
                self.overflowed = True
                return Flow.ENOUGH
        return Flow.WAITING
