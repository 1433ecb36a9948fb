"""What is believed of what an engine says: values of the right type in a sane range; all else is not known.

Pure. Not here: where it is found on an engine's pages.
"""

import re
from collections.abc import Iterator

from ktms.domain.announcement import MODELS_MAX, SLOTS_MAX, VERSION_LENGTH_MAX, WINDOW_MAX_TOKENS

_NAME = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?")
"""What a gateway takes as a name: an announcement with another one would be refused as a whole."""

BUSY_MAX = 1_000_000
"""More calls in one engine are a mistake."""

ENTRIES_MAX = 4 * MODELS_MAX
"""Entries of a list that are read: stubs and embedders are among them, which do not count."""


def members(value: object) -> dict[str, object]:
    """Give an object's members; none where it is no object."""
    return value if isinstance(value, dict) else {}


def entries(value: object, listing: str) -> Iterator[dict[str, object]]:
    """Give the objects of a list that is a member."""
    found = members(value).get(listing)
    for entry in found[:ENTRIES_MAX] if isinstance(found, list) else ():
        if isinstance(entry, dict):
            yield entry


def number(value: object, least: int, most: int) -> int | None:
    """Give a whole number in a range; a bool is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None


def window(value: object) -> int | None:
    """Give a number of tokens that fit."""
    return number(value, 1, WINDOW_MAX_TOKENS)


def slots(value: object) -> int | None:
    """Give a number of calls at once; a claim above what a gateway believes is that bound."""
    found = number(value, 1, BUSY_MAX)
    return None if found is None else min(found, SLOTS_MAX)


def name(value: object) -> str | None:
    """Give a model's name."""
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def version(value: object) -> str | None:
    """Give a version."""
    if not isinstance(value, str) or not 0 < len(value) <= VERSION_LENGTH_MAX:
        return None
    return value if value.isascii() and value.isprintable() else None


def words(value: object) -> tuple[str, ...] | None:
    """Give a list of words; None where there is no list."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else None
