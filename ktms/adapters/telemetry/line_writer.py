"""Writes log lines to a file descriptor without ever holding up the event loop.

A reader that stops reading fills a pipe within 64 kB, and a blocking write would then stop every call. So lines go
to a bounded buffer, and a thread of its own empties it; what does not fit is dropped and counted. It writes with
`os.write`: a buffered stream locked by this thread would abort the interpreter at exit.
"""

import os
import select
import threading
from collections import deque

HELD_BYTES_MAX = 8 * 1024 * 1024
"""Lines waiting for a reader: some 20,000 calls, a few seconds of a busy worker."""

POLL_S = 0.5
"""How long to wait at a time for a descriptor that was left in non-blocking mode and is full."""


class LineWriter:
    """Takes whole lines in the order they come. The thread starts with the first line, not before."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._held_bytes = 0
        self._closing = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.dropped_total = 0

    def put(self, data: bytes, lines: int = 1) -> None:
        """Take `lines` whole lines; drops and counts them when the buffer is full or the writer is closed."""
        with self._changed:  # the thread never writes while it holds this lock
            if self._closing or self._held_bytes + len(data) > HELD_BYTES_MAX:
                self.dropped_total += lines
                return
            self._waiting.append((data, lines))
            self._held_bytes += len(data)
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._empty, name="ktms-log-lines", daemon=True)
            self._thread.start()

    def close(self, timeout_s: float) -> bool:
        """Write what is held, waiting at most `timeout_s`; False when lines are left behind (they are counted)."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(timeout_s)
        with self._changed:
            left = sum(lines for _, lines in self._waiting)
            self.dropped_total += left
            self._waiting.clear()
        return left == 0 and (self._thread is None or not self._thread.is_alive())

    def _empty(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if not self._waiting:
                    return
                data, lines = self._waiting.popleft()
            written = self._write(data)
            with self._changed:
                self._held_bytes -= len(data)
                if not written:
                    self.dropped_total += lines

    def _write(self, data: bytes) -> bool:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fd, rest) :]
            except BlockingIOError:
                select.select([], [self._fd], [], POLL_S)
            except OSError:  # the reader is gone, the disk is full: there is nobody left to tell but the counter
                return False
        return True
