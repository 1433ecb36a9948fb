"""The form of `POST /v1/files`: its fields in any order, its file as it comes.

Rules: what can be refused before the file is, so nothing is stored for it; what comes behind the file is judged
behind it, and whoever stores the content then forgets it.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field

from ktms.api.openai.multipart import BadForm, Event, FormReader, PartBegins, PartData
from ktms.domain.batch.batch import PURPOSE
from ktms.domain.errors import CallFailed, ErrorCode, problem

MIB = 1024 * 1024

FILE_MAX_BYTES = 200 * MIB
"""OpenAI's own bound for the input of a batch."""

FIELD_BYTES_MAX = 1024
"""A word, or a number of seconds."""

NAME_CHARS_MAX = 255
"""What file systems take; the rest of a longer name is dropped."""

KEEP_MIN_S, KEEP_MAX_S = 3600, 2_592_000
"""OpenAI's own bounds of `expires_after`."""

PURPOSE_FIELD = "purpose"
ANCHOR_FIELD = "expires_after[anchor]"
SECONDS_FIELD = "expires_after[seconds]"
FILE_FIELD = "file"


@dataclass(slots=True)
class Upload:
    """One form as it is read: `begin` first, then `content` to its end."""

    pieces: AsyncIterator[bytes]
    reader: FormReader
    max_bytes: int = FILE_MAX_BYTES
    name: str = ""
    _fields: dict[str, bytes] = field(default_factory=dict)
    _into: str | None = None  # the field that is being read; None: the file
    _ahead: Iterator[Event] = field(default_factory=lambda: iter(()))

    async def begin(self) -> None:
        """Read up to the file.

        Raises:
            CallFailed: it is no such form, or a field is wrong.
        """
        while (event := await self._next()) is not None:
            if isinstance(event, PartBegins) and event.file_name is not None:
                if event.name != FILE_FIELD:
                    raise _bad(f"The file's field is `{FILE_FIELD}`.", FILE_FIELD)
                self.name = _shown(event.file_name)
                self._into = None
                self._judge(whole=False)
                return
            self._take(event)
        raise _bad("The form has no file.", FILE_FIELD)

    async def content(self) -> AsyncGenerator[bytes, None]:
        """Give the content of the file; at its end the whole form has been read and is right.

        Raises:
            CallFailed: it is not, or the file is too large.
        """
        size, in_file = 0, True
        while (event := await self._next()) is not None:
            if in_file and isinstance(event, PartData):
                size += len(event.data)
                if size > self.max_bytes:
                    raise too_large(self.max_bytes)
                yield event.data
                continue
            in_file = False
            if isinstance(event, PartBegins) and event.file_name is not None:
                raise _bad("The form has more than one file.", FILE_FIELD)
            self._take(event)
        self._judge(whole=True)

    @property
    def keep_s(self) -> float | None:
        """How long the file is to be kept; None: nothing was said before it came."""
        seconds = self._fields.get(SECONDS_FIELD)
        return None if seconds is None else float(seconds)

    async def _next(self) -> Event | None:
        """Give what comes next in the form; None: that was all of it."""
        try:
            while (event := next(self._ahead, None)) is None:
                if self.reader.ended:
                    await self._end()
                    return None
                piece = await anext(self.pieces, b"")
                if not piece:
                    raise _bad("The form ends before its last boundary.")
                self._ahead = self.reader.feed(piece)
        except BadForm as error:
            raise _bad(str(error)) from error
        return event

    async def _end(self) -> None:
        """Read what a client may send behind the form."""
        size = 0
        async for piece in self.pieces:
            size += len(piece)
            if size > FIELD_BYTES_MAX:
                raise _bad("The body goes on behind the form.")

    def _take(self, event: Event) -> None:
        if isinstance(event, PartBegins):
            if event.name in self._fields:
                raise _bad("The form gives a field twice.")
            self._into = event.name
            self._fields[event.name] = b""
            return
        assert self._into is not None, "data follows a beginning"
        self._fields[self._into] += event.data
        if len(self._fields[self._into]) > FIELD_BYTES_MAX:
            raise _bad("A field of the form is too long.")

    def _judge(self, *, whole: bool) -> None:
        """Judge the fields that have come; `whole`: no other comes."""
        purpose, seconds, anchor = (
            self._fields.get(name) for name in (PURPOSE_FIELD, SECONDS_FIELD, ANCHOR_FIELD)
        )
        if (purpose is not None or whole) and purpose != PURPOSE.encode():
            raise _bad(f'`{PURPOSE_FIELD}` must be "{PURPOSE}"', PURPOSE_FIELD)
        if anchor not in (None, b"created_at"):
            raise _bad(f'`{ANCHOR_FIELD}` must be "created_at"', ANCHOR_FIELD)
        if seconds is None:
            return
        if not seconds.isdigit() or len(seconds) > len(str(KEEP_MAX_S)):
            raise _bad(f"`{SECONDS_FIELD}` must be a whole number", SECONDS_FIELD)
        if not KEEP_MIN_S <= int(seconds) <= KEEP_MAX_S:
            raise _bad(f"`{SECONDS_FIELD}` must be from {KEEP_MIN_S} to {KEEP_MAX_S}", SECONDS_FIELD)


def too_large(max_bytes: int) -> CallFailed:
    """Say that a file is larger than is taken."""
    message = f"The file is larger than {max_bytes // MIB} MB; split it into several."
    return CallFailed(problem(ErrorCode.REQUEST_TOO_LARGE, message, param=FILE_FIELD))


def _shown(name: str) -> str:
    """Keep of a file's name what can be shown."""
    return "".join(each if each.isprintable() else "?" for each in name[:NAME_CHARS_MAX]) or "file"


def _bad(message: str, param: str | None = None) -> CallFailed:
    return CallFailed(problem(ErrorCode.INVALID_REQUEST, message, param=param))
