"""Reads single environment variables, one method per form; collects one line per mistake.

A mistake never ends the reading: the default stands in, so that one start shows every mistake. A secret is taken
out of the environment as it is read and its value is never part of a line. An empty value counts as not set, as
compose files and charts write it.
Not here: which variables exist (`settings.py`).
"""

import difflib
import math
import re
from collections.abc import MutableMapping
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar

from ktms.config.address import PORT_MAX, Address, read_address
from ktms.config.secret_file import ReadFile, SecretFileUnreadable
from ktms.domain.access.secret import Secret

PREFIX = "KTMS_"
FILE_SUFFIX = "_FILE"
SHOWN_MAX = 60
"""A wrong value is shown up to this many characters: enough to recognise it, short enough for one line."""

Network = IPv4Network | IPv6Network
Choice = TypeVar("Choice", bound=StrEnum)

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


class SettingsInvalid(Exception):
    """The environment is not usable; `lines` holds one readable line per mistake."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


class Variables:
    """The variables `KTMS_…` of one environment; names are given without the prefix."""

    def __init__(self, environ: MutableMapping[str, str], read_file: ReadFile) -> None:
        self._environ = environ
        self._read_file = read_file
        self._lines: list[str] = []
        self._known: set[str] = set()

    def refuse(self, name: str, reason: str) -> None:
        """Record a mistake."""
        self._lines.append(f"{PREFIX}{name}: {reason}")

    def has_refused(self, name: str) -> bool:
        """Whether there is a mistake of a name, or of the file that stands for it, already."""
        return any(line.startswith((f"{PREFIX}{name}:", f"{PREFIX}{name}{FILE_SUFFIX}:")) for line in self._lines)

    def done(self) -> None:
        """End the reading.

        Raises:
            SettingsInvalid: at least one mistake was recorded.
        """
        if self._lines:
            raise SettingsInvalid(tuple(self._lines))

    def know(self, *names: str) -> None:
        """Count names that another reader takes as known."""
        self._known.update(names)

    def unknown(self) -> tuple[str, ...]:
        """Lines about variables nobody reads; not a mistake, since other software sets names like KTMS_PORT."""
        strangers = sorted(
            name.removeprefix(PREFIX)
            for name in self._environ
            if name.startswith(PREFIX) and name.removeprefix(PREFIX) not in self._known
        )
        return tuple(f"{PREFIX}{name}: not a setting{self._near(name)}" for name in strangers)

    def text(self, name: str) -> str | None:
        """Take any text."""
        self._known.add(name)
        return self._environ.get(PREFIX + name) or None

    def path(self, name: str) -> Path | None:
        """Take a path; a leading `~` is kept as it is, services have no home."""
        text = self.text(name)
        return Path(text) if text is not None else None

    def flag(self, name: str) -> bool:
        """Take 1, true, yes, on or 0, false, no, off; not set is no."""
        text = self.text(name)
        if text is None or text.lower() in _NO:
            return False
        if text.lower() not in _YES:
            self.refuse(name, f"expected 1 or 0, got {shown(text)}")
        return text.lower() in _YES

    def choice(self, name: str, default: Choice) -> Choice:
        """Take one of the values of the default's enumeration, in any case."""
        text = self.text(name)
        if text is None:
            return default
        options = type(default)
        try:
            return options(text.lower())
        except ValueError:
            self.refuse(name, f"expected one of {', '.join(options)}, got {shown(text)}")
            return default

    def whole(self, name: str, default: int, *, low: int, high: int, unit: str) -> int:
        """Take a whole number of `unit` in [low, high]."""
        text = self.text(name)
        if text is None:
            return default
        number = int(text) if _is_whole(text) else None
        if number is None or not low <= number <= high:
            self.refuse(name, f"expected {unit} between {low} and {high}, got {shown(text)}")
            return default
        return number

    def seconds(self, name: str, default: float, *, low: float, high: float) -> float:
        """Take seconds in [low, high], with or without decimals."""
        text = self.text(name)
        if text is None:
            return default
        number = _decimal(text)
        if not low <= number <= high:
            self.refuse(name, f"expected seconds between {low:g} and {high:g}, got {shown(text)}")
            return default
        return number

    def address(self, name: str) -> Address | None:
        """Take `host:port`."""
        text = self.text(name)
        if text is None:
            return None
        address = read_address(text)
        if address is None:
            self.refuse(name, f"expected host:port, such as 127.0.0.1:9090, got {shown(text)}")
        return address

    def networks(self, name: str) -> tuple[Network, ...] | None:
        """Take address ranges, separated by commas."""
        text = self.text(name)
        if text is None:
            return None
        networks: list[Network] = []
        for part in text.split(","):
            try:
                networks.append(ip_network(part.strip()))
            except ValueError:
                self.refuse(name, f"expected ranges such as 10.0.0.0/8,fd00::/8, got {shown(part.strip())}")
        return tuple(networks)

    def secret(self, name: str, *, private: bool = False) -> Secret | None:
        """Take a secret from the variable or from the file that `<name>_FILE` names, and remove the variable.

        `private` asks for a file that only its owner may read.
        """
        path = self.text(name + FILE_SUFFIX)
        self._known.add(name)
        value = self._environ.pop(PREFIX + name, "")
        if path is None:
            return Secret(value) if value else None
        if value:
            self.refuse(name, f"set either it or {PREFIX}{name}{FILE_SUFFIX}, not both")
            return None
        return self._from_file(name + FILE_SUFFIX, Path(path), private=private)

    def url(self, name: str, schemes: tuple[str, ...]) -> Secret | None:
        """Take a secret that is a URL (it may hold a password) of one of these schemes."""
        secret = self.secret(name)
        if secret is not None and not secret.reveal().startswith(tuple(f"{scheme}://" for scheme in schemes)):
            self.refuse(name, f"expected a URL that begins with {' or '.join(f'{each}://' for each in schemes)}")
            return None
        if secret is not None and not _has_sound_hosts(secret.reveal()):
            self.refuse(name, "expected hosts with ports between 1 and 65535, and no blank or line end in the URL")
            return None
        return secret

    def _from_file(self, name: str, path: Path, *, private: bool) -> Secret | None:
        try:
            file = self._read_file(path)
        except SecretFileUnreadable as error:
            self.refuse(name, str(error))
            return None
        if private and not file.private:
            self.refuse(name, f"{path} is open to others (mode {file.mode:04o}); run: chmod 600 {path}")
            return None
        if not file.content.reveal():
            self.refuse(name, f"{path} is empty")
            return None
        return file.content

    def _near(self, name: str) -> str:
        near = difflib.get_close_matches(name, self._known, n=1)
        return f" (did you mean {PREFIX}{near[0]}?)" if near else ""


def shown(value: str) -> str:
    """Quote a wrong value, cut to one line's worth."""
    return repr(value if len(value) <= SHOWN_MAX else value[:SHOWN_MAX] + "…")


def _has_sound_hosts(url: str) -> bool:
    """Whether drivers can read who is to be asked, and do not fail on it later; commas stand between hosts."""
    if not url.isprintable() or " " in url:
        return False
    authority = re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0].rpartition("@")[2]
    ports = [host.rpartition("]")[2].partition(":") for host in authority.split(",")]
    return all(not colon or (_is_whole(port) and 0 < int(port) <= PORT_MAX) for _, colon, port in ports)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(2**63))


def _decimal(text: str) -> float:
    """NaN for what is no plain number: it lies in no range."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
