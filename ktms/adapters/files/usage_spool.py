"""Usage events that wait on disk: a crash, a kill or a long outage of the ledger loses none (failures: FL2, FL6).

Rules: an event is written the moment it is recorded, by one write to the end of a file and without a sync, so it
survives the process but not the machine; files are read from the front, and a file goes when the ledger has all
of it. What was sent of the file in use is not noted: after a crash it is sent again, and the ledger knows it. The
whole has a bound, at which the oldest file goes that is not being sent; its events are counted as lost.
A disk that is full or broken costs the events that could not be written, and no call.
"""

import errno
import os
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ktms.adapters.files.spool_folder import FILE_MODE, SUFFIX, SpoolUnusable, take_folder
from ktms.adapters.files.usage_lines import LineInvalid, decode_line, encode_line
from ktms.domain.access.usage_event import UsageEvent

FILE_BYTES = 8 * 1024 * 1024
"""Some 12,000 events: what goes at once when the spool is full."""

RENEWED_BYTES = 1024 * 1024
"""A file that was sent to its end goes from this size on: a crash sends no more than that again in quiet times."""

SPOOL_BYTES_MAX = 1024 * 1024 * 1024
"""Some 1.5 million events: a day without a ledger at 17 calls per second."""

READ_BYTES = 512 * 1024
"""One look into a file: somewhat more than a batch."""


KEPT_FILES_MIN = 2
"""The one that is read and the one that is written."""


@dataclass(slots=True)
class _File:
    """One file: `left` events of it are not forgotten yet, `size` bytes of it are whole lines."""

    path: Path
    left: int = 0
    size: int = 0


class FileUsageSpool:
    """Implements the `Spool` port in a folder below `root`.

    Raises:
        SpoolUnusable: the folder cannot be used.
    """

    def __init__(self, root: Path, *, bytes_max: int = SPOOL_BYTES_MAX, file_bytes: int = FILE_BYTES) -> None:
        assert bytes_max >= 4 * file_bytes, "one file is written, one is read, and one can go"
        self._bytes_max = bytes_max
        self._file_bytes = file_bytes
        self._renewed_bytes = min(RENEWED_BYTES, file_bytes)
        self._folder = take_folder(root)
        self._files: deque[_File] = deque()
        self._lent: deque[UsageEvent] = deque()
        self._writes: int | None = None  # to the end of the last file
        self._reads: int | None = None  # from the first file, at `_read_at`
        self._read_at = 0
        self._closed = False
        self.lost_total = 0
        self.depth = 0
        try:
            for path in self._folder.files():
                self._inherit(path)
        except OSError as error:
            self._folder.release()
            raise SpoolUnusable(f"cannot read {self._folder.path}: {error.strerror or error}") from error

    def put(self, event: UsageEvent) -> None:
        """Write one event; what cannot be written is counted."""
        try:
            file = self._write(event)
        except (LineInvalid, OSError):
            self.lost_total += 1
            return
        file.left += 1
        self.depth += 1

    def oldest(self, count_max: int) -> Sequence[UsageEvent]:
        """Lend the oldest, of one file at a time."""
        while len(self._lent) < count_max and self._read_on():
            pass
        return tuple(islice(self._lent, count_max))

    def forget(self, count: int) -> None:
        """Forget the oldest; a file that is done with goes."""
        assert count <= len(self._lent), "only what was lent is forgotten"
        for _ in range(count):
            self._lent.popleft()
        self._take_off(count)
        self._drop_finished()

    def close(self) -> None:
        """Leave the rest to the next process."""
        if self._closed:
            return
        self._closed = True
        if self._files and not self._files[0].left:
            self._drop(self._files[0])
        self._stop_reading()
        self._stop_writing()
        self._folder.release()

    def _inherit(self, path: Path) -> None:
        """Count what a dead process left; a line without its end was never recorded."""
        file = _File(path)
        with path.open("rb") as content:
            while piece := content.read(READ_BYTES):
                file.left += piece.count(b"\n")
                file.size = content.tell() - len(piece) + piece.rfind(b"\n") + 1 if b"\n" in piece else file.size
        if not file.left:
            path.unlink()
            return
        self._files.append(file)
        self.depth += file.left

    def _write(self, event: UsageEvent) -> _File:
        """Write to the end of the last file, or of a new one."""
        if self._closed:
            raise LineInvalid
        line = encode_line(event)
        if self._writes is None or self._files[-1].size >= self._file_bytes:
            self._begin_file(event)
        assert self._writes is not None
        file = self._files[-1]
        written = os.write(self._writes, line)
        if written < len(line):  # the disk is full: half a line would spoil the next one
            os.ftruncate(self._writes, file.size)
            raise OSError(errno.ENOSPC, "half written")
        file.size += written
        return file

    def _begin_file(self, event: UsageEvent) -> None:
        """Begin a file that is named by its first event: ids sort by time and never repeat."""
        path = self._folder.path / f"{event.id}{SUFFIX}"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, FILE_MODE)
        self._stop_writing()
        self._writes = handle
        self._files.append(_File(path))
        self._make_room()

    def _make_room(self) -> None:
        """Lose the oldest files that are neither being sent nor written, while all together are too large."""
        while len(self._files) > KEPT_FILES_MIN and sum(file.size for file in self._files) > self._bytes_max:
            oldest = self._files[1 if self._lent else 0]
            self.lost_total += oldest.left
            self.depth -= oldest.left
            self._drop(oldest)

    def _read_on(self) -> bool:
        """Take more lines of the first file; False when it has no more for now."""
        self._drop_finished()
        if not self._files or self._read_at >= self._files[0].size:
            return False
        first = self._files[0]
        try:
            if self._reads is None:
                self._reads = os.open(first.path, os.O_RDONLY)
            piece = os.pread(self._reads, min(READ_BYTES, first.size - self._read_at), self._read_at)
        except OSError:
            piece = b""
        end = piece.rfind(b"\n") + 1
        if not end:  # the file is broken: what is left of it cannot be had
            self._lose(first.left - len(self._lent))
            self._read_at = first.size
            return True
        self._read_at += end
        for line in piece[: end - 1].split(b"\n"):
            self._lend(line)
        return True

    def _lend(self, line: bytes) -> None:
        try:
            self._lent.append(decode_line(line))
        except LineInvalid:
            self._lose(1)

    def _lose(self, count: int) -> None:
        self.lost_total += count
        self._take_off(count)

    def _take_off(self, count: int) -> None:
        self._files[0].left -= count
        self.depth -= count

    def _drop_finished(self) -> None:
        """Let files go that are done with; the one that is written only from a certain size on."""
        while self._files and not self._files[0].left:
            first = self._files[0]
            if len(self._files) == 1 and self._writes is not None and first.size < self._renewed_bytes:
                return
            self._drop(first)

    def _drop(self, file: _File) -> None:
        if file is self._files[0]:
            self._stop_reading()
        if file is self._files[-1]:
            self._stop_writing()
        self._files.remove(file)
        with suppress(OSError):  # it is sent again one day, and known
            file.path.unlink()

    def _stop_reading(self) -> None:
        if self._reads is not None:
            os.close(self._reads)
        self._reads, self._read_at = None, 0

    def _stop_writing(self) -> None:
        if self._writes is not None:
            os.close(self._writes)
        self._writes = None
