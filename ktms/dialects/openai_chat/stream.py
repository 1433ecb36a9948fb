"""Watches a streamed answer on its way to the client: edits the model's name, and notes what accounting needs.

Rules: whole events only; each keeps its bytes but for the edits that the public API names (model, a usage chunk
nobody asked for, comments, `id:` and `retry:` lines). An event without data is dropped with them: official clients
take it for an empty chunk and fail (P06). After an error, an end mark or garbage nothing more comes out; nothing
raises for what a peer sent. Events like one parsed before are not parsed again (`frame`). Not here: what follows
from all this, keep-alives and the end mark sent to the client (engine).
"""

import re

from ktms.dialects.json import BadJson, as_json, splice
from ktms.dialects.openai_chat.chunk import Chunk, name_told, read_chunk
from ktms.dialects.openai_chat.frame import Frame, learn
from ktms.dialects.openai_chat.timings import read_timings
from ktms.dialects.openai_chat.usage import read_usage
from ktms.dialects.openai_chat.vendor_error import WireError, error_of_body
from ktms.dialects.sse import MAX_EVENT_BYTES, EventCutter, EventTooLarge, field_of, lines_of, split_events
from ktms.domain.call import Route
from ktms.domain.capacity.speed import EngineTimings
from ktms.domain.conversation.usage import Usage

DONE = b"data: [DONE]\n\n"

MAX_FRAMES = 4
"""Shapes remembered per stream: reasoning, text, tool calls, or as many choices."""

FITS_PER_LESSON = 8
"""Learning costs as much as a few parses: beyond the first frames, so many events must have fitted for each."""

MAX_EVENT_LINE_ENDS = 20_000
"""Ten thousand lines ended by CRLF: no JSON text is written so, and taking more apart would hold the loop."""

_DROPPED = (b"", b"id", b"retry")  # a comment is a line with an empty name
_ERROR = b"error"
_ONE_LINE = re.compile(rb"data: ?(?P<payload>[^\r\n]*+)(?:\r\n?+|\n){2}")


class StreamObserver:
    """One streamed answer.

    `visible`: something the client can see has come; `visible_events`, `content_bytes`: how much, where a vendor
    gives no usage. `finished`: each choice has its finish reason. `done`: the end mark came. `error`, `malformed`,
    `too_large`: the stream is broken, and why. `model_told`: the first name the upstream gave itself, known when
    the event that has it comes out.
    """

    __slots__ = (
        "_answers",
        "_asked",
        "_cutter",
        "_finished",
        "_fits",
        "_frames",
        "_legacy",
        "_lessons",
        "_model",
        "_raw_timings",
        "_raw_usage",
        "_seen",
        "_visible_parsed",
        "content_bytes",
        "done",
        "error",
        "malformed",
        "model_told",
        "too_large",
        "visible",
    )

    def __init__(
        self,
        public_model: str,
        *,
        route: Route,
        usage_asked: bool,
        answers: int = 1,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        self._model = as_json(public_model)
        self._legacy = route is Route.COMPLETIONS
        self._asked = usage_asked
        self._answers = answers
        self._cutter = EventCutter(max_event_bytes)
        self._frames: list[Frame] = []  # newest first
        self._lessons = 0
        self._fits = 0  # visible events that needed no parse
        self._visible_parsed = 0
        self._raw_usage: bytes | None = None
        self._raw_timings: bytes | None = None
        self._seen: set[int] = set()
        self._finished: set[int] = set()
        self.visible = False
        self.content_bytes = 0
        self.done = False
        self.error: WireError | None = None
        self.malformed = False
        self.too_large = False
        self.model_told: str | None = None

    @property
    def finished(self) -> bool:
        """Whether every choice asked for, and every one seen, has a finish reason."""
        return len(self._finished) >= self._answers and self._finished >= self._seen

    @property
    def visible_events(self) -> int:
        """How many events the client could see something in."""
        return self._fits + self._visible_parsed

    @property
    def usage(self) -> Usage | None:
        """The vendor's own counts; the last ones win, never a sum (P13)."""
        return None if self._raw_usage is None else read_usage(self._raw_usage)

    @property
    def timings(self) -> EngineTimings | None:
        """The engine's own clock: that of the last chunk that has it."""
        return None if self._raw_timings is None else read_timings(self._raw_timings)

    def feed(self, data: bytes) -> bytes:
        """Take what has come; the whole events that the client is to get now, edited; empty if there is none."""
        if self._over:
            return b""
        try:
            block = self._cutter.feed(data)
        except EventTooLarge:
            self.too_large = True
            return b""
        if not block:
            return b""
        if block.find(b"\n") == len(block) - 2 and b"\r" not in block:  # one event of one line: nearly always
            return self._event(block)
        return self._events(block)

    def end(self) -> bytes:
        """Take a clean end of the stream; a last event may lack its blank line."""
        return b"" if self._over else self._events(self._cutter.end())

    @property
    def _over(self) -> bool:
        return self.done or self.malformed or self.too_large or self.error is not None

    def _events(self, block: bytes) -> bytes:
        if b"data" not in block and _ERROR not in block:
            return b""  # comments by the hundred thousand, and names of events that have no data
        out = []
        for event in split_events(block):
            out.append(self._event(event))
            if self._over:
                break
        return b"".join(out)

    def _event(self, event: bytes) -> bytes:
        for frame in self._frames:
            fit = frame.fit(event)
            if fit is not None:
                if fit.visible:
                    self._fits += 1
                    self.content_bytes += fit.text_bytes
                if fit.usage is not None:
                    self._raw_usage = fit.usage
                return fit.edited
        return self._parsed(event)

    def _parsed(self, event: bytes) -> bytes:
        if event.count(b"\n") + event.count(b"\r") > MAX_EVENT_LINE_ENDS:
            self.too_large = True
            return b""
        lines = _Lines(event)
        payload = lines.payload.strip()
        if lines.kind == _ERROR:
            self.error = error_of_body(payload)
        elif payload == b"[DONE]":
            self.done = True
        elif payload:
            return self._edited(event, lines)
        return b""

    def _edited(self, event: bytes, lines: "_Lines") -> bytes:
        try:
            chunk = read_chunk(lines.payload, legacy=self._legacy)
        except BadJson:
            self.malformed = True
            return b""
        if chunk.error is not None:
            self.error = chunk.error
            return b""
        self._note(chunk)
        if self.model_told is None and chunk.model is not None:
            self.model_told = name_told(lines.payload[chunk.model.start : chunk.model.end])
        if chunk.only_usage and not self._asked:
            return b""
        if lines.payload_at is not None:
            self._learn(event, lines.payload_at, chunk)
        if chunk.model is None:
            return lines.joined(lines.payload)
        return lines.joined(splice(lines.payload, [(chunk.model.start, chunk.model.end, self._model)]))

    def _note(self, chunk: Chunk) -> None:
        self._seen.update(chunk.indexes)
        self._finished.update(chunk.finished)
        if chunk.usage is not None:
            self._raw_usage = chunk.usage
        if chunk.timings is not None:
            self._raw_timings = chunk.timings
        if chunk.visible:
            self.visible = True
            self._visible_parsed += 1
            self.content_bytes += chunk.text_bytes

    def _learn(self, event: bytes, payload_at: int, chunk: Chunk) -> None:
        if self._lessons >= MAX_FRAMES + self._fits // FITS_PER_LESSON:
            return
        frame = learn(event, payload_at, chunk, legacy=self._legacy, model=self._model)
        if frame is not None:
            self._lessons += 1
            self._frames = [frame, *self._frames[: MAX_FRAMES - 1]]


class _Lines:
    """One event taken apart, with the lines that are not forwarded left out.

    `payload_at` is where the payload stands in an event of one data line and nothing else.
    """

    __slots__ = ("_event", "_kept", "_pieces", "kind", "payload", "payload_at")

    def __init__(self, event: bytes) -> None:
        self._event = event
        self.kind = b""
        line = _ONE_LINE.fullmatch(event)
        if line is None:
            self.payload_at = None
            self._take(event)
        else:
            self.payload_at, _ = line.span("payload")
            self.payload = line["payload"]

    def joined(self, payload: bytes) -> bytes:
        """Put the event together again, with this payload: as many lines as before, or fewer."""
        if self.payload_at is not None:
            tail = self._event[self.payload_at + len(self.payload) :]
            return b"%b%b%b" % (self._event[: self.payload_at], payload, tail)
        pieces = payload.split(b"\n")
        same = len(pieces) == self._pieces
        rest = iter(pieces)
        out = []
        for head, has_piece, line_end in self._kept:
            piece = next(rest, None) if has_piece else b""
            if piece is not None:
                out.append(b"%b%b%b" % (head if same or not has_piece else b"data: ", piece, line_end))
        return b"".join(out)

    def _take(self, event: bytes) -> None:
        self._kept: list[tuple[bytes, bool, bytes]] = []  # head, whether a piece of the payload follows, line end
        values = []
        for line, line_end in lines_of(event):
            name, value = field_of(line)
            if name in (b"data", _ERROR):  # older llama.cpp sends an error as a field of its own
                values.append(value)
                self._kept.append((line[: len(line) - len(value)], True, line_end))
            elif name not in _DROPPED or not line:
                self._kept.append((line, False, line_end))
            if name == b"event":
                self.kind = value
            elif name == _ERROR:
                self.kind = _ERROR
        self._pieces = len(values)
        self.payload = b"\n".join(values)
