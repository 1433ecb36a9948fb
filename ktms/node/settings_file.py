"""`node.json`: the settings of a node, written by the installer and read by the agent; mode 0600.

A file that others may read is refused: it holds the node key. Not here: what the settings mean (`settings.py`).
"""

import json
import os
import stat
from dataclasses import fields
from enum import Enum
from pathlib import Path

from ktms.domain.access.secret import Secret
from ktms.domain.catalogue import EngineKind
from ktms.node.plain_json import from_json
from ktms.node.settings import NodeSettings, Tls, Tunnel
from ktms.node.settings_rules import wrong_with

_ENUMS: dict[str, type[Enum]] = {"engine": EngineKind, "tls": Tls, "tunnel": Tunnel}
_SECRETS = frozenset({"node_key", "node_token"})
_KINDS: dict[str, tuple[type, ...]] = {
    "gateway": (str,),
    "node_key": (str,),
    "node_token": (str,),
    "engine": (str,),
    "engine_url": (str,),
    "models": (list,),
    "listen_host": (str,),
    "listen_port": (int,),
    "public_url": (str, type(None)),
    "tls": (str,),
    "tunnel": (str,),
    "tunnel_token_file": (str, type(None)),
    "slots": (int, type(None)),
    "drain_s": (int, float),
}


class SettingsUnusable(Exception):
    """The file is missing, open to others, or says something that is not understood; the message names what."""


def settings_text(settings: NodeSettings) -> str:
    """Write settings as the file holds them, secrets included."""
    values = {one.name: getattr(settings, one.name) for one in fields(NodeSettings)}
    return json.dumps({name: _plain(value) for name, value in values.items()}, indent=2) + "\n"


def read_settings(path: Path) -> NodeSettings:
    """Read the file.

    Raises:
        SettingsUnusable: see there.
    """
    try:
        with path.open(encoding="utf-8") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise SettingsUnusable(f"{path} is open to other users: chmod 600 {path}")
            text = file.read()
    except FileNotFoundError as error:
        raise SettingsUnusable(f"there is no {path}: this machine was not installed as a node") from error
    except (OSError, UnicodeError) as error:
        raise SettingsUnusable(f"{path} cannot be read: {error}") from error
    return parse_settings(text, str(path))


def parse_settings(text: str, name: str = "node.json") -> NodeSettings:
    """Read settings from text; members that a later release wrote are passed over.

    Raises:
        SettingsUnusable: see there.
    """
    try:
        content = from_json(text)
    except ValueError as error:
        raise SettingsUnusable(f"{name} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise SettingsUnusable(f"{name}: expected an object")
    values = {key: value for key, value in content.items() if key in _KINDS}
    for key, value in values.items():
        if not isinstance(value, _KINDS[key]) or isinstance(value, bool):
            raise SettingsUnusable(f"{name}: {key} has the wrong type")
        wrong = wrong_with(key, value)
        if wrong is not None:
            raise SettingsUnusable(f"{name}: {key} {wrong}")
        try:
            values[key] = _read(key, value)
        except ValueError as error:
            known = ", ".join(str(one.value) for one in _ENUMS[key])
            raise SettingsUnusable(f"{name}: {key} must be one of {known}") from error
    try:
        return NodeSettings(**values)
    except TypeError as error:
        missing = [one.name for one in fields(NodeSettings)[:5] if one.name not in values]
        raise SettingsUnusable(f"{name}: {', '.join(missing)} is missing") from error


def _plain(value: object) -> object:
    if isinstance(value, Secret):
        return value.reveal()
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _read(key: str, value: object) -> object:
    if key in _SECRETS:
        return Secret(str(value))
    if key in _ENUMS:
        return _ENUMS[key](value)
    return tuple(map(str, value)) if isinstance(value, list) else value
