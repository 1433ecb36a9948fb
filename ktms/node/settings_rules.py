"""What values of `node.json` have to be like: one that cannot be is named at the start, not met in the middle.

The file is the owner's and may be edited by hand. Pure. Not here: types and enumerations (`settings_file.py`), the
options of the installer (`install/options.py`).
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from ktms.domain.announcement import SLOTS_MAX, TOKEN_LENGTH_MAX

DRAIN_MAX_S = 3600
"""No system waits longer for a program to end."""

PORT_MAX = 65535
"""The highest that TCP has."""

_SHOWN = re.compile(rf"[!-~]{{1,{TOKEN_LENGTH_MAX}}}")


def is_plain_url(value: object) -> bool:
    """Whether it is http or https with a host, and nothing but a path behind it."""
    text = str(value)
    try:
        url = urlsplit(text)
        is_there = bool(url.hostname) and url.port != 0
    except ValueError:
        return False
    is_visible = text.isprintable() and " " not in text
    return is_visible and is_there and url.scheme in {"http", "https"} and not re.search("[?#@]", text)


def _is_shown(value: object) -> bool:
    return _SHOWN.fullmatch(str(value)) is not None


def _within(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int | float) and least <= value <= most


_URL = (is_plain_url, "must be a URL with http or https, without user name or query")
_SECRET = (_is_shown, f"must be 1 to {TOKEN_LENGTH_MAX} visible ASCII characters")
_RULES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "gateway": _URL,
    "engine_url": _URL,
    "public_url": _URL,
    "node_key": _SECRET,
    "node_token": _SECRET,
    "listen_host": (_is_shown, "must be an address or a name"),
    "listen_port": (_within(1, PORT_MAX), f"must be 1 to {PORT_MAX}"),
    "slots": (_within(1, SLOTS_MAX), f"must be 1 to {SLOTS_MAX}"),
    "drain_s": (_within(0, DRAIN_MAX_S), f"must be 0 to {DRAIN_MAX_S}"),
}


def wrong_with(name: str, value: object) -> str | None:
    """Say what is wrong with a member; None where nothing is, or where it is left to the agent."""
    rule = _RULES.get(name)
    if rule is None or value is None or rule[0](value):
        return None
    return rule[1]
