"""Folders of the user, by the XDG base directory rules; a relative path in its variables is ignored, as they say.

Not here: what lies inside them.
"""

from collections.abc import Mapping
from pathlib import Path

ROOT_DATA_HOME = Path("/var/lib/ktms")
"""As root the database server runs as another user, who cannot enter a home folder of mode 0700."""


def config_home(environ: Mapping[str, str]) -> Path:
    """Give the folder of the user's settings and first keys."""
    return _base(environ, "XDG_CONFIG_HOME", ".config") / "ktms"


def data_home(environ: Mapping[str, str], *, as_root: bool) -> Path:
    """Give the folder of the embedded databases; what the user states wins over the place for root."""
    if as_root and not environ.get("XDG_DATA_HOME", "").startswith("/"):
        return ROOT_DATA_HOME
    return _base(environ, "XDG_DATA_HOME", ".local/share") / "ktms"


def _base(environ: Mapping[str, str], name: str, below_home: str) -> Path:
    stated = environ.get(name, "")
    return Path(stated) if stated.startswith("/") else Path(environ.get("HOME") or "/") / below_home
