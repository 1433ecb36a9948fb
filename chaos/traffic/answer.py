"""An answer as a client sees it: pieces of the body in, text and end out.

Events are told apart by blank lines; what is no answer is garbled, and said so. It shares nothing with the
gateway's own readers. Not here: the connection (`caller.py`).
"""

import json
from collections.abc import Callable, Mapping

END_MARK = b"[DONE]"


class Answer:
    """One answer under way; `visible` hears of its first text."""

    def __init__(self, visible: Callable[[], None]) -> None:
        self._visible = visible
        self._streamed = False
        self._pending = b""
        self._texts: list[str] = []
        self.models: dict[str, None] = {}  # every name that it has for its model
        self.headers: Mapping[str, str] = {}
        self.status = 0
        self.events = 0
        self.code = ""
        self.message = ""
        self.over = False  # complete by its framing
        self.done = False  # the end mark came
        self.garbled = ""  # what was wrong with it, should anything be

    @property
    def text(self) -> str:
        """All visible text, in order."""
        return "".join(self._texts)

    @property
    def outcome(self) -> str:
        """How it ended, in the word of the journal."""
        if not self.status:
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

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the head."""
        self.status = status
        self.headers = headers
        self._streamed = headers.get("Content-Type", "").startswith("text/event-stream")

    def feed(self, data: bytes) -> None:
        """Take a piece of the body."""
        self._pending += data
        if self._streamed:
            *events, self._pending = self._pending.split(b"\n\n")
            for event in events:
                self._event(event)

    def end(self) -> None:
        """Note that the body is complete."""
        self.over = True
        if not self._streamed:
            self._read(self._pending, "message")
        elif self._pending:
            self.garbled = "an event without its blank line"

    def _event(self, event: bytes) -> None:
        if event.startswith(b":"):
            return
        if self.done or self.code:
            self.garbled = "an event after the end"
        self.events += 1
        data = event.removeprefix(b"data: ")
        if data == END_MARK:
            self.done = True
        else:
            self._read(data, "delta")

    def _read(self, data: bytes, inner: str) -> None:
        try:
            self._take(json.loads(data), inner)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.garbled = f"no answer: {type(error).__name__}"

    def _take(self, members: dict[str, object], inner: str) -> None:
        error = members.get("error")
        if isinstance(error, dict):
            self.code = str(error.get("code") or error.get("type") or "error")
            self.message = str(error.get("message") or "")
            return
        if members.get("model"):
            self.models[str(members["model"])] = None
        choices = members["choices"]
        if not isinstance(choices, list):
            raise TypeError
        for choice in choices:
            text = choice[inner].get("content")
            if text:
                if not self._texts:
                    self._visible()
                self._texts.append(text)
