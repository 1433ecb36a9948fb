"""The folder of one process in the spool directory: found, locked, and heir to what dead processes left.

Each process that runs has a folder of its own (0, 1, …): it holds a lock on a file in it, which ends with the
process, however that ends. Whoever starts takes the first free folder, and moves the files of all other free ones
there.
Not here: what is in the files (`usage_spool.py`).
"""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDERS_MAX = 64
"""Processes that share a spool directory: twice the workers that a machine may have."""

LOCK_FILE = "lock"
SUFFIX = ".jsonl"

FOLDER_MODE, FILE_MODE = 0o700, 0o600
"""Who called what and when is nobody else's business."""


class SpoolUnusable(Exception):
    """The spool directory cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class SpoolFolder:
    """A locked folder; `lock` is the open descriptor that holds it."""

    path: Path
    lock: int

    def files(self) -> list[Path]:
        """Give the files with events, the oldest first: their names begin with the time."""
        return sorted(path for path in self.path.iterdir() if path.suffix == SUFFIX)

    def release(self) -> None:
        """Leave the folder to others."""
        os.close(self.lock)


def take_folder(root: Path) -> SpoolFolder:
    """Take a folder of one's own, and what lies in those of dead processes.

    Raises:
        SpoolUnusable: the directory cannot be written to, or as many processes as may already use it.
    """
    try:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        own = next((found for number in range(FOLDERS_MAX) if (found := _lock(root / str(number)))), None)
        if own is None:
            raise SpoolUnusable(f"{root} is in use by {FOLDERS_MAX} processes already: name another folder")
        for other in _abandoned(root, own):
            for file in other.files():
                file.rename(own.path / file.name)
            other.release()
    except OSError as error:
        raise SpoolUnusable(f"cannot use {root}: {error.strerror or error}") from error
    return own


def _abandoned(root: Path, own: SpoolFolder) -> Iterator[SpoolFolder]:
    for number in range(FOLDERS_MAX):
        path = root / str(number)
        if path != own.path and path.is_dir() and (found := _lock(path)):
            yield found


def _lock(path: Path) -> SpoolFolder | None:
    """Lock a folder that no living process has; it is made where it is missing."""
    path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        os.close(lock)
        raise
    return SpoolFolder(path, lock)
