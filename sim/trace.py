"""The trace: every delivery of bytes, every reply of a port, every timer that fired, folded into one hash.

Same seed and commit, same hash. Records are kept only on demand; then each has the stack of the task that was
running, for the finder of divergences. Not here: facts that checkers read (`sim/journal`).
"""

import asyncio
import hashlib
import zlib
from collections import Counter
from dataclasses import dataclass

FOLD_BYTES = 1 << 16
"""Text gathered before it is hashed: one call per record would cost more than the record."""


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened, as it went into the hash, and which task was running."""

    text: str
    task: str


class Trace:
    """`counts` says how many records of each kind there were: bytes, reply, timer."""

    def __init__(self, *, keep: bool = False) -> None:
        self._hash = hashlib.sha256()
        self._pending: list[str] = []
        self._pending_chars = 0
        self._keep = keep
        self.counts: Counter[str] = Counter()
        self.records: list[Record] = []

    def delivered(self, at: float, connection: int, to: str, data: bytes) -> None:
        """Note bytes that arrived at a host."""
        self._add("bytes", f"{at!r} {connection} {to} {len(data)} {zlib.crc32(data)}")

    def replied(self, at: float, port: str, method: str, reply: str) -> None:
        """Note what a port answered, in one line."""
        self._add("reply", f"{at!r} {port} {method} {reply}")

    def fired(self, at: float) -> None:
        """Note a timer that fired."""
        self._add("timer", repr(at))

    def digest(self) -> str:
        """Give the hash of all so far, in hexadecimal."""
        self._fold()
        return self._hash.hexdigest()

    def _add(self, kind: str, text: str) -> None:
        self.counts[kind] += 1
        if self._keep:
            self.records.append(Record(f"{kind} {text}", _running()))
        self._pending.append(text)
        self._pending_chars += len(text)
        if self._pending_chars > FOLD_BYTES:
            self._fold()

    def _fold(self) -> None:
        self._hash.update(";".join((*self._pending, "")).encode())
        self._pending.clear()
        self._pending_chars = 0


def _running() -> str:
    """Give the stack of the running task, innermost frame first; empty outside of any."""
    task = asyncio.current_task()
    if task is None:
        return ""
    return " < ".join(f"{frame.f_code.co_qualname}:{frame.f_lineno}" for frame in reversed(task.get_stack()))
