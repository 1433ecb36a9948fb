"""Secrets that lie in files: read whole, bounded, with their permissions.

Not here: which variable wants a private file (`settings.py`), the user's own configuration (`adapters/files`).
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ktms.domain.access.secret import Secret

SECRET_FILE_MAX_BYTES = 64 * 1024
"""A keyring of eight keys is under 1 kB and a certificate chain under 20; a larger file is the wrong file."""

OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""Permission bits of everybody but the owner."""


@dataclass(frozen=True, slots=True)
class SecretFile:
    """Content of a file without the line end of its last line, and its permission bits."""

    content: Secret
    mode: int

    @property
    def private(self) -> bool:
        """Whether only its owner may read or write it (0600, 0400)."""
        return not self.mode & OTHERS


ReadFile = Callable[[Path], SecretFile]
"""Reads a secret file; raises SecretFileUnreadable."""


class SecretFileUnreadable(Exception):
    """The file is missing, forbidden, not text, or too large; the message names the path, never its content."""


def read_secret_file(path: Path) -> SecretFile:
    """Read a secret from a file.

    Raises:
        SecretFileUnreadable: with the reason in words.
    """
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())  # of the file that is read, not of one swapped in later
            data = file.read(SECRET_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise SecretFileUnreadable(f"cannot read {path}: {error.strerror or 'not readable'}") from error
    if len(data) > SECRET_FILE_MAX_BYTES:
        raise SecretFileUnreadable(f"{path} is larger than {SECRET_FILE_MAX_BYTES} bytes: is it the right file?")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SecretFileUnreadable(f"{path} is not UTF-8 text") from error
    return SecretFile(Secret(text.rstrip("\r\n")), stat.S_IMODE(status.st_mode))
