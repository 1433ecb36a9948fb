"""Who a server runs as: Postgres refuses to run as root, and nothing of ours needs to."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from ktms.adapters.embedded.failed import EmbeddedFailed

ACCOUNTS = ("nobody", "postgres", "daemon")
"""Tried in turn when we are root: unprivileged accounts that every Unix has, the least powerful first."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user of this machine that is not root."""

    name: str
    uid: int
    gid: int

    def may(self, path: Path, bits: int) -> bool:
        """Whether the permission bits of `path` (4 read, 2 write, 1 execute or enter) allow it this account."""
        found = path.stat()
        if found.st_uid == self.uid:
            granted = stat.S_IMODE(found.st_mode) >> 6
        elif found.st_gid == self.gid:
            granted = stat.S_IMODE(found.st_mode) >> 3
        else:
            granted = stat.S_IMODE(found.st_mode)
        return granted & bits == bits

    def closed_folder(self, path: Path) -> Path | None:
        """Give the first folder on the way to `path` that this account cannot enter, None when all are open."""
        ways = reversed(path.resolve().parents)
        return next((folder for folder in ways if not self.may(folder, 1)), None)


def account_for(data: Path) -> Account | None:
    """Choose who runs the server that owns `data`: None (ourselves) unless we are root.

    Data that exists keeps its owner, so that a folder moved between machines or made earlier goes on working.

    Raises:
        EmbeddedFailed: we are root and no unprivileged account exists.
    """
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return _by_uid(data.stat().st_uid)
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name, entry.pw_uid, entry.pw_gid)
    raise EmbeddedFailed(
        f"running as root needs one of the accounts {', '.join(ACCOUNTS)}; run as an ordinary user"
    )


def _by_uid(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, uid)  # a container's user without a name: the number alone is enough
    return Account(entry.pw_name, uid, entry.pw_gid)
