"""The Lua scripts, as they lie beside this module, and their digests.

Rules: each runs on keys of one hash tag (`keys.py`), takes the time from Redis TIME and nowhere else, and is one
step for all others. Not here: how a lost script is loaded again (`link.py`).
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "scripts"


@dataclass(frozen=True, slots=True)
class Script:
    """One script; `digest` is what EVALSHA goes by."""

    source: str
    digest: str


@dataclass(frozen=True, slots=True)
class Scripts:
    """All of them, by the names of their files."""

    take: Script
    renew: Script
    release: Script
    drained: Script
    moment: Script
    wait: Script
    leave: Script
    read: Script
    claim: Script
    post: Script
    reserve: Script
    settle: Script
    beat: Script
    declare: Script
    raise_spent: Script

    def all(self) -> tuple[Script, ...]:
        """Give all of them: they are loaded together."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


_SHARED = "account.lua"
_ON_ACCOUNTS = ("reserve", "settle", "beat", "declare", "raise_spent")
"""Scripts that the shared file is put before: Redis lets none include another."""


def read_scripts(folder: Path = FOLDER) -> Scripts:
    """Read the files."""
    return Scripts(**{name: _read(folder, name) for name in Scripts.__dataclass_fields__})


def _read(folder: Path, name: str) -> Script:
    source = (folder / f"{name}.lua").read_text()
    if name in _ON_ACCOUNTS:
        source = (folder / _SHARED).read_text() + source
    return script_of(source)


def script_of(source: str) -> Script:
    """Make a script of its text."""
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())
