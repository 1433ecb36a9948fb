"""Environment -> settings of files and batches."""

from dataclasses import dataclass

from ktms.config.variables import Variables

FILE_MAX_MB = 200
"""OpenAI's own bound for the input of a batch."""

FILE_MOST_MB = 2000
FILES_PER_KEY_MB = 20_000
"""An upload costs its sender nothing, and fills the database that all depend on."""

FILES_PER_KEY_MOST_MB = 10_000_000
LINES_MAX = 16
"""Lines under way on one replica: as many as some machines have slots, and a small part of what it can hold."""

LINES_MOST = 512
"""Each may hold an answer of 64 MB."""

KEEP_DAYS = 30
KEEP_MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large a file may be, and all files of a key, how many lines run at once, how long all is kept."""

    file_max_mb: int = FILE_MAX_MB
    files_per_key_mb: int = FILES_PER_KEY_MB
    lines_max: int = LINES_MAX
    keep_days: int = KEEP_DAYS


def read_batch_limits(read: Variables) -> BatchLimits:
    """Read them; mistakes are refused at `read`."""
    return BatchLimits(
        file_max_mb=read.whole("FILE_MAX_MB", FILE_MAX_MB, low=1, high=FILE_MOST_MB, unit="megabytes"),
        files_per_key_mb=read.whole(
            "FILES_PER_KEY_MB", FILES_PER_KEY_MB, low=1, high=FILES_PER_KEY_MOST_MB, unit="megabytes"
        ),
        lines_max=read.whole("BATCH_LINES_MAX", LINES_MAX, low=1, high=LINES_MOST, unit="lines"),
        keep_days=read.whole("BATCH_KEEP_DAYS", KEEP_DAYS, low=2, high=KEEP_MOST_DAYS, unit="days"),
    )
