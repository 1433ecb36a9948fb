"""The input file of a batch, read once before anything runs: its lines found, the broken ones ended.

Rules: a broken line ends by itself; the whole file fails only where it is empty, too long or cannot be read; never
is more of it in memory than one line and what is just being stored; the claim is renewed with every piece that is
read, whatever was found in it. Not here: what a line is (dialects).
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVarTuple

from ktms.dialects.openai_chat.batch_line import BadLine, read_line, unrun_line
from ktms.dialects.openai_chat.line_reader import FileLine, LineReader
from ktms.dialects.openai_chat.request import HEAVY_BYTES
from ktms.domain.batch.batch import LINE_BYTES_MAX, LINES_MAX, FileComplaint
from ktms.domain.batch.names import BatchId
from ktms.domain.call import Route
from ktms.domain.errors import ErrorCode, problem
from ktms.ports.batch_upkeep import ADDED_AT_ONCE, BatchUpkeep, Examination, NewLine
from ktms.ports.file_store import PIECES_AT_ONCE, FileStore
from ktms.ports.secrets import DecryptFailed

P = TypeVarTuple("P")

_TOO_LONG = problem(
    ErrorCode.REQUEST_TOO_LARGE, f"A line is larger than {LINE_BYTES_MAX // (1024 * 1024)} MiB.", param="body"
)
_TWICE = problem(ErrorCode.INVALID_REQUEST, "`custom_id` stands on an earlier line too", param="custom_id")

EMPTY = FileComplaint("empty_file", "The input file has no lines.")
TOO_MANY = FileComplaint(
    "too_many_lines", f"The input file has more than {LINES_MAX} lines; make several batches of it.", LINES_MAX + 1
)
UNREADABLE = FileComplaint("file_unreadable", "The input file cannot be read any more.")


class _Lost(Exception):
    """The claim does not hold any more."""


class _Judge:
    """Finds the lines of one file; not for two threads at once."""

    def __init__(self, batch: BatchId, route: Route) -> None:
        self._batch = batch
        self._route = route
        self._reader = LineReader(LINE_BYTES_MAX)
        self._seen: set[bytes] = set()
        self.count = 0

    def feed(self, content: bytes) -> list[NewLine]:
        """Take more of the file."""
        return list(self._judged(self._reader.feed(content)))

    def end(self) -> list[NewLine]:
        """Take its end."""
        return list(self._judged(self._reader.end()))

    @property
    def held_bytes(self) -> int:
        """How long the line is that has not ended yet."""
        return self._reader.held_bytes

    def _judged(self, lines: Iterable[FileLine]) -> Iterator[NewLine]:
        for line in lines:
            self.count += 1
            if self.count > LINES_MAX:
                return
            yield NewLine(line.number, line.start, line.size_bytes, self._error(line))

    def _error(self, line: FileLine) -> bytes | None:
        if line.text is None:
            return unrun_line(self._batch, line.number, None, _TOO_LONG)
        try:
            request = read_line(line.text, self._route)
        except BadLine as bad:
            return unrun_line(self._batch, line.number, bad.custom_id, bad.problem)
        name = hashlib.sha256(request.custom_id.encode("utf-8", "surrogatepass")).digest()
        if name in self._seen:
            return unrun_line(self._batch, line.number, request.custom_id, _TWICE)
        self._seen.add(name)
        return None


class Examiner:
    """Examines batches."""

    def __init__(self, upkeep: BatchUpkeep, files: FileStore) -> None:
        self._upkeep = upkeep
        self._files = files

    async def one(self) -> bool:
        """Examine the batch whose turn it is; False: there is none.

        Raises:
            StoreAway: it is examined again after its lease.
        """
        examination = await self._upkeep.examine()
        if examination is None:
            return False
        try:
            complaint = await self._read(examination)
        except _Lost:
            return True
        except DecryptFailed:
            complaint = UNREADABLE
        await self._upkeep.examined(examination, () if complaint is None else (complaint,))
        return True

    async def _read(self, examination: Examination) -> FileComplaint | None:
        judge = _Judge(examination.batch, examination.route)
        number = 0
        while pieces := await self._files.read(examination.input_file, number, PIECES_AT_ONCE):
            if pieces[0].number != number or len(pieces) != pieces[-1].number - number + 1:
                return UNREADABLE
            number = pieces[-1].number + 1
            content = b"".join(piece.content for piece in pieces)
            await self._add(examination, await _beside(len(content) + judge.held_bytes, judge.feed, content))
            if judge.count > LINES_MAX:
                return TOO_MANY
        await self._add(examination, await _beside(judge.held_bytes, judge.end))
        if judge.count > LINES_MAX:
            return TOO_MANY
        return None if judge.count else EMPTY

    async def _add(self, examination: Examination, lines: list[NewLine]) -> None:
        """Store lines and renew the claim, be there none: who does not hold it any more stops here."""
        for at in range(0, max(1, len(lines)), ADDED_AT_ONCE):
            if not await self._upkeep.add_lines(examination, lines[at : at + ADDED_AT_ONCE]):
                raise _Lost


async def _beside(size: int, judge: Callable[[*P], list[NewLine]], *content: *P) -> list[NewLine]:
    """Judge beside the loop, which calls of clients share: a megabyte of lines takes some ten milliseconds."""
    if size <= HEAVY_BYTES:
        return judge(*content)
    return await asyncio.get_running_loop().run_in_executor(None, judge, *content)
