"""Files for the owner's eyes alone: keys and what holds them. Mode 0600 in a folder of mode 0700, written whole.

A reader sees the old content or the new, never a part; an existing file open to others is refused, not repaired,
since whoever could read it may have done so.
Not here: what the files mean.
"""

import os
import stat
import tempfile
from pathlib import Path

PRIVATE_MAX_BYTES = 64 * 1024
"""Keyrings and configuration are under 2 kB; a larger file is the wrong file."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateFileUnusable(Exception):
    """The file is missing rights, open to others, too large or not text; the message never holds its content."""


def read_private(path: Path) -> str | None:
    """Give the text of a private file; None when there is none.

    Raises:
        PrivateFileUnusable: with the reason and what to do.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read(PRIVATE_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PrivateFileUnusable(f"cannot read {path}: {error.strerror or 'not readable'}") from error
    if mode & OTHERS:
        raise PrivateFileUnusable(f"{path} is open to others (mode {mode:04o}); run: chmod 600 {path}")
    if len(data) > PRIVATE_MAX_BYTES:
        raise PrivateFileUnusable(f"{path} is larger than {PRIVATE_MAX_BYTES} bytes: is it the right file?")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PrivateFileUnusable(f"{path} is not UTF-8 text") from error


def write_private(path: Path, text: str) -> None:
    """Replace or create a private file at once; folders that are missing are made for the owner alone.

    Raises:
        PrivateFileUnusable: the folder cannot be written to.
    """
    replace_private(path, text.encode("utf-8"))


def replace_private(path: Path, data: bytes) -> None:
    """Do the same with bytes.

    Raises:
        PrivateFileUnusable: the folder cannot be written to.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, data)
    except OSError as error:
        raise PrivateFileUnusable(f"cannot write {path}: {error.strerror or 'not writable'}") from error


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # 0600 from its first moment
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
