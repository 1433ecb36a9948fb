"""Public names for what engines call their models. Pure."""

import re
from pathlib import PurePosixPath

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._:/-]+")
_USABLE_BY_AN_ENGINE = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?")

NAME_LENGTH_MAX = 128
"""The catalogue's own limit for a public name."""


def readable(engine_name: str) -> str | None:
    """Make a public name: no path, no `.gguf`, no `:latest`; None when nothing usable is left."""
    path = engine_name.replace("\\", "/")
    name = PurePosixPath(path).name if _is_file(path) else path
    name = name.removesuffix(".gguf").removesuffix(":latest")
    name = _NOT_IN_A_NAME.sub("-", name)[:NAME_LENGTH_MAX].strip("._:/-")
    return name or None


def usable(engine_name: str) -> bool:
    """Whether the engine's own name can be kept in the catalogue."""
    return _USABLE_BY_AN_ENGINE.fullmatch(engine_name) is not None


def _is_file(path: str) -> bool:
    """Tell a file's path from a name with an owner in it, such as `org/model`."""
    return path.endswith(".gguf") or path.startswith(("/", "./", "~")) or path.count("/") > 1
