"""`~/.config/ktms/config.toml`: where this user's gateway is and the admin key that opens it; mode 0600.

    [admin]
    addr = "127.0.0.1:9090"
    key = "ktms_adm_…"
    tls = true              # speak TLS, trusting the system's certificate authorities
    ca = "/path/to/ca.pem"  # or this one
    plaintext = false       # accept plain text to another machine

Not here: where the folder is (config), which of file, environment and flag wins (app/cli).
"""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ktms.adapters.files.private_file import PrivateFileUnusable, read_private, write_private
from ktms.domain.access.secret import Secret

FILE_NAME = "config.toml"


@dataclass(frozen=True, slots=True)
class UserConfig:
    """What the file says; None where it says nothing."""

    admin_addr: str | None = None
    admin_key: Secret | None = None
    admin_tls: bool = False
    admin_ca: Path | None = None
    admin_plaintext: bool = False


def read_user_config(path: Path) -> UserConfig:
    """Read the file; one that is missing says nothing.

    Raises:
        PrivateFileUnusable: open to others, unreadable, not TOML, an unknown field or a wrong type.
    """
    text = read_private(path)
    if text is None:
        return UserConfig()
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PrivateFileUnusable(f"{path} is not valid TOML: {error}") from error
    admin = content.pop("admin", {})
    if content or not isinstance(admin, dict):
        raise PrivateFileUnusable(f"{path}: expected one table [admin]")
    _check_fields(path, admin)
    key, ca = admin.get("key"), admin.get("ca")
    return UserConfig(
        admin_addr=admin.get("addr"),
        admin_key=Secret(key) if key else None,
        admin_tls=admin.get("tls", False),
        admin_ca=Path(ca) if ca else None,
        admin_plaintext=admin.get("plaintext", False),
    )


def write_user_config(path: Path, config: UserConfig) -> None:
    """Replace the file.

    Raises:
        PrivateFileUnusable: it cannot be written.
    """
    lines = ["[admin]"]
    if config.admin_addr is not None:
        lines.append(f"addr = {_quoted(config.admin_addr)}")
    if config.admin_key is not None:
        lines.append(f"key = {_quoted(config.admin_key.reveal())}")
    if config.admin_tls:
        lines.append("tls = true")
    if config.admin_ca is not None:
        lines.append(f"ca = {_quoted(str(config.admin_ca))}")
    if config.admin_plaintext:
        lines.append("plaintext = true")
    write_private(path, "\n".join(lines) + "\n")


_TYPES: dict[str, tuple[type, str]] = {
    "addr": (str, "text"),
    "key": (str, "text"),
    "tls": (bool, "true or false"),
    "ca": (str, "text"),
    "plaintext": (bool, "true or false"),
}


def _check_fields(path: Path, admin: dict[str, object]) -> None:
    for name, value in admin.items():
        if name not in _TYPES:
            raise PrivateFileUnusable(f"{path}: admin.{name}: unknown field; known are {', '.join(_TYPES)}")
        kind, words = _TYPES[name]
        if not isinstance(value, kind):
            raise PrivateFileUnusable(f"{path}: admin.{name}: expected {words}")


def _quoted(text: str) -> str:
    """Write a basic string: TOML has JSON's escapes, and DEL besides."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
