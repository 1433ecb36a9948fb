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
    wait: Script
    leave: Script
    read: Script
    claim: Script
    post: Script

    def all(self) -> tuple[Script, ...]:
        """Give all of them: they are loaded together."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def read_scripts(folder: Path = FOLDER) -> Scripts:
    """Read the files."""
    return Scripts(**{name: _read(folder / f"{name}.lua") for name in Scripts.__dataclass_fields__})


def _read(file: Path) -> Script:
    source = file.read_text()
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())
