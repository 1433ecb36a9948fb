"""Who a server of this machine runs as: Postgres refuses to run as root.

Not here: what is run (`programs.py`) and how (`server.py`).
"""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from chaos.services.service import Unavailable

ACCOUNTS = ("nobody", "postgres", "daemon")
"""Unprivileged accounts that Unix systems have, the least powerful first."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user that is not root."""

    uid: int
    gid: int

    def reaches(self, path: Path) -> bool:
        """Whether anybody at all, and so this account, may come to the file and read or run it."""
        closed = [folder for folder in path.resolve().parents if not folder.stat().st_mode & stat.S_IXOTH]
        return not closed and bool(path.stat().st_mode & stat.S_IROTH)

    def own(self, path: Path) -> None:
        """Make it the owner of `path`."""
        os.chown(path, self.uid, self.gid)


def unprivileged() -> Account | None:
    """Choose who runs a server: None (ourselves) unless we are root.

    Raises:
        Unavailable: we are root and there is nobody else.
    """
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise Unavailable(f"root needs one of the accounts {', '.join(ACCOUNTS)} for its servers: make one")
