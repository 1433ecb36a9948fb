"""The folder an embedded server lives in: made, owned, locked, with its password beside or elsewhere.

Not here: what the server writes into it.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ktms.adapters.embedded.account import Account
from ktms.adapters.embedded.failed import EmbeddedFailed
from ktms.ports.entropy import Entropy

PASSWORD_BYTES = 24
"""192 random bits, written as hexadecimal: fits URLs and configuration files without quoting."""


def make_folder(folder: Path) -> None:
    """Make the folder if it is missing and make sure that we can write into it.

    Made by root it can be entered (not listed) by others, because the servers run as another user.

    Raises:
        EmbeddedFailed: it cannot be made or written to.
    """
    try:
        folder.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EmbeddedFailed(f"the data folder {folder} cannot be made: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise EmbeddedFailed(
            f"the data folder {folder} is not writable: choose another one or change its permissions"
        )


def check_reachable(folder: Path, account: Account | None) -> None:
    """Make sure that the account can come to what lies in the folder.

    Raises:
        EmbeddedFailed: some folder on the way is closed to it.
    """
    closed = account.closed_folder(folder / "x") if account else None
    if account and closed:
        raise EmbeddedFailed(
            f"as root the servers run as {account.name}, which cannot enter {closed}: "
            f"choose a data folder such as /var/lib/ktms, or run as an ordinary user"
        )


def give_to(path: Path, account: Account | None) -> None:
    """Make the account the owner of `path` itself."""
    if account:
        os.chown(path, account.uid, account.gid)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the folder for this process alone; the kernel lets go of it however we end.

    Raises:
        EmbeddedFailed: another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 32, 0).decode(errors="replace") or "unknown"
            raise EmbeddedFailed(
                f"the data folder {path.parent} is in use by process {holder}: stop it or choose another folder"
            ) from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def read_or_make_password(path: Path, entropy: Entropy, *, must_exist: bool) -> str:
    """Give the password kept in `path`, making one the first time; only its owner can read the file.

    Raises:
        EmbeddedFailed: the file is missing though data exists that needs it, or cannot be read or written.
    """
    try:
        if path.exists():
            return path.read_text(encoding="ascii").strip()
        if must_exist:
            raise EmbeddedFailed(
                f"the password file {path} is missing: put it back (was it another HOME or XDG_CONFIG_HOME?), "
                "or begin anew with another --data-dir"
            )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        password = entropy.token_bytes(PASSWORD_BYTES).hex()
        write_private(path, password)
    except OSError as error:
        raise EmbeddedFailed(f"the password file {path} cannot be used: {error.strerror}") from error
    return password


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read, from its first moment on."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as written:
        written.write(text)
