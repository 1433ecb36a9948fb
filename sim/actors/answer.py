"""An answer as a simulated client sees it: bytes in, status, text and end out.

Reads HTTP/1.1 with httptools and events by blank lines; knows nothing of the gateway's own readers. Everything a
client can observe is kept, so a checker can compare it with what the targets say they sent.
"""

import asyncio
import json
from collections.abc import Callable

import httptools


class Answer:
    """One answer under way; `begun` hears of its head, `visible` of its first text.

    `changed` is set at every piece and at the end; who waits clears it.
    """

    def __init__(self, begun: "Callable[[Answer], None]", visible: Callable[[], None] = lambda: None) -> None:
        self._begun = begun
        self._visible = visible
        self._parser = httptools.HttpResponseParser(self)
        self._pending = b""
        self._body: list[bytes] = []
        self._texts: list[str] = []
        self.models: dict[str, None] = {}  # every name that the answer has for its model
        self.changed = asyncio.Event()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.events = 0
        self.code = ""
        self.message = ""
        self.over = False  # complete by its framing
        self.lost = False  # the connection is gone
        self.done = False  # the end mark came
        self.garbled = ""  # what was wrong with it, should anything be

    @property
    def begun(self) -> bool:
        """Whether the head has come."""
        return self.status != 0

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""
        return self.over or self.lost or bool(self.garbled)

    @property
    def text(self) -> str:
        """All visible text, in order."""
        return "".join(self._texts)

    @property
    def body(self) -> bytes:
        """The body of an answer that is no stream, as far as it has come."""
        return b"".join(self._body)

    @property
    def outcome(self) -> str:
        """How it ended, in the word of the journal."""
        if not self.begun:
            return "refused"
        if not self.over or self.garbled:
            return "cut"
        if self.status != 200:
            return "error"
        if not self._streamed:
            return "whole"
        if self.code:
            return "error_event"
        return "done" if self.done else "cut"

    @property
    def _streamed(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    def feed(self, data: bytes) -> None:
        """Take bytes of the connection."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.garbled = type(error).__name__
        self.changed.set()

    def connection_lost(self) -> None:
        """Note that no more can come."""
        self.lost = True
        self.changed.set()

    # What follows is called by the parser.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self.headers[name.decode().lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Take the head."""
        self.status = self._parser.get_status_code()
        if self.status >= 200:
            self._begun(self)

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if not self._streamed:
            self._body.append(data)
            return
        events = (self._pending + data).split(b"\n\n")
        self._pending = events.pop()
        for event in events:
            self._event(event)

    def on_message_complete(self) -> None:
        """Note the end of the answer."""
        if self.status >= 200:
            self.over = True
            if self._pending:
                self.garbled = "an event without its blank line"
            elif not self._streamed:
                self._whole(self.body)

    def _event(self, event: bytes) -> None:
        if event.startswith(b":"):
            return
        if self.done or self.code:
            self.garbled = "an event after the end"
        self.events += 1
        data = event.removeprefix(b"data: ")
        if data == b"[DONE]":
            self.done = True
            return
        try:
            self._take(json.loads(data), "delta")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.garbled = f"an event that is none: {type(error).__name__}"

    def _whole(self, body: bytes) -> None:
        try:
            self._take(json.loads(body), "message")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.garbled = f"a body that is none: {type(error).__name__}"

    def _take(self, members: dict[str, object], inner: str) -> None:
        error = members.get("error")
        if isinstance(error, dict):
            self.code = str(error.get("code") or error.get("type") or "error")
            self.message = str(error.get("message") or "")
            return
        if members.get("model"):
            self.models[str(members["model"])] = None
        choices = members.get("choices", [])
        assert isinstance(choices, list)
        for choice in choices:
            said = choice.get(inner, choice)
            for name in ("content", "reasoning_content", "reasoning", "text"):
                if said.get(name):
                    if not self._texts:
                        self._visible()
                    self._texts.append(said[name])
