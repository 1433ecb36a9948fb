"""The keyring: the encryption keys a replica holds, as the operator wrote them.

`<id>:<43 characters of base64url>,…`, 1 to 8 keys, the first one being the target of the next rotation. Complaints
name position and id, never a value. Not here: reading the environment (config), sealing and opening (envelope).
"""

import base64
import re
from typing import final

KEYS_MAX = 8
"""Two are enough to rotate; more than eight says that old keys are never removed."""

KEY_BYTES = 32

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,15}")
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}")

_PRINTABLE = frozenset(range(0x20, 0x7F))


class KeyringInvalid(ValueError):
    """The keyring text is unusable; the message is safe to show."""


@final
class Keyring:
    """Encryption keys by id, the preferred one first. Its `repr` shows ids only."""

    __slots__ = ("_keys",)

    def __init__(self, keys: dict[str, bytes]) -> None:
        assert 0 < len(keys) <= KEYS_MAX, len(keys)
        assert all(len(key) == KEY_BYTES for key in keys.values()), "every key has 32 bytes"
        self._keys = dict(keys)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids in the order given."""
        return tuple(self._keys)

    def key(self, key_id: str) -> bytes:
        """Give the 32 bytes of one key.

        Raises:
            KeyError: this replica does not hold a key of that id.
        """
        return self._keys[key_id]

    def __contains__(self, key_id: str) -> bool:
        return key_id in self._keys

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self._keys)})"


def parse_keyring(text: str) -> Keyring:
    """Read a keyring text; white space around the whole (the last line end of a file) is ignored.

    Raises:
        KeyringInvalid: empty, too many, malformed, duplicate or weak keys.
    """
    entries = text.strip().split(",")
    if entries == [""]:
        raise KeyringInvalid("the keyring is empty: give at least one key as <id>:<base64url of 32 bytes>")
    if len(entries) > KEYS_MAX:
        raise KeyringInvalid(f"the keyring has {len(entries)} keys, at most {KEYS_MAX} are allowed")
    keys: dict[str, bytes] = {}
    for position, entry in enumerate(entries, start=1):
        key_id, key = _entry(position, entry)
        if key_id in keys:
            raise KeyringInvalid(f"key {position} ({key_id}): this id was given before")
        if key in keys.values():
            raise KeyringInvalid(f"key {position} ({key_id}): the same key was given before under another id")
        keys[key_id] = key
    return Keyring(keys)


def _entry(position: int, entry: str) -> tuple[str, bytes]:
    key_id, colon, value = entry.partition(":")
    if not colon or not _ID.fullmatch(key_id):
        # What stands there may be the secret itself, so it is not repeated.
        raise KeyringInvalid(
            f"key {position}: must begin with an id (1 to 16 of a-z 0-9 -, not beginning with -) and a colon"
        )
    if not _VALUE.fullmatch(value):
        raise KeyringInvalid(
            f"key {position} ({key_id}): must be 43 characters of base64url (32 bytes), no padding, no spaces"
        )
    key = base64.urlsafe_b64decode(value + "=")
    if base64.urlsafe_b64encode(key).decode() != value + "=":
        raise KeyringInvalid(f"key {position} ({key_id}): its last character holds bits that belong to no byte")
    if len(set(key)) == 1 or _PRINTABLE.issuperset(key):
        raise KeyringInvalid(f"key {position} ({key_id}): too weak, draw 32 random bytes instead")
    return key_id, key
