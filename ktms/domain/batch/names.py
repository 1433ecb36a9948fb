"""Names of files and batches, and what follows from them.

Both are UUIDv7 behind the prefix that OpenAI's clients expect, so they sort by time and the stores keep 16 bytes.
"""

import hashlib
from typing import NewType

from ktms.domain.access.usage_event import BatchLine
from ktms.domain.ids import UUID7_RANDOM_BYTES, EventId, uuid7

FileId = NewType("FileId", str)
BatchId = NewType("BatchId", str)

FILE_PREFIX = "file-"
BATCH_PREFIX = "batch_"

_HEX_DIGITS = 32
_HEX = frozenset("0123456789abcdef")
_TIME_DIGITS = 12  # of a UUIDv7: 48 bits of milliseconds


def file_id(uuid_text: str) -> FileId:
    """Make the name of a file from a UUID."""
    return FileId(FILE_PREFIX + uuid_text.replace("-", ""))


def batch_id(uuid_text: str) -> BatchId:
    """Make the name of a batch from a UUID."""
    return BatchId(BATCH_PREFIX + uuid_text.replace("-", ""))


def read_file_id(text: str) -> FileId | None:
    """Take the name of a file as a client wrote it; None where no file can have it."""
    return FileId(text) if _is_named(text, FILE_PREFIX) else None


def read_batch_id(text: str) -> BatchId | None:
    """Take the name of a batch as a client wrote it; None where no batch can have it."""
    return BatchId(text) if _is_named(text, BATCH_PREFIX) else None


def hex_of(name: FileId | BatchId) -> str:
    """Give the 32 hexadecimal digits of a name."""
    return name[-_HEX_DIGITS:]


def event_of_line(line: BatchLine) -> EventId:
    """Give the id of the one usage event that a line of a batch may have.

    It follows from batch and line alone: whoever runs a line again books it under the same id, and the ledger
    takes an id once. Its time is that of the batch, so repeats lie in one month too.
    """
    chance = hashlib.sha256(f"{line.batch}/{line.line}".encode()).digest()[:UUID7_RANDOM_BYTES]
    return EventId(uuid7(int(hex_of(BatchId(line.batch))[:_TIME_DIGITS], 16), chance))


def _is_named(text: str, prefix: str) -> bool:
    digits = text.removeprefix(prefix)
    return text.startswith(prefix) and len(digits) == _HEX_DIGITS and _HEX.issuperset(digits)
