"""The form of key texts: how they are made, read and compared.

`ktms_sk_<10 id>_<32 secret><6 checksum>`, alphabet 0-9A-Za-z. The checksum (CRC-32 as in zlib, of all characters
before it) refuses typing errors without asking a store; it proves nothing. What a key may do is in
`client_key.py`, for how long a verdict holds in `key_window.py`.
"""

import hashlib
import hmac
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from ktms.domain.ids import KeyId


class KeyKind(StrEnum):
    """Who carries a key; the value is how its text begins."""

    CLIENT = "ktms_sk"
    NODE = "ktms_node"
    ADMIN = "ktms_adm"


@dataclass(frozen=True, slots=True)
class KeyText:
    """A well-formed key text, taken apart. `digest` is SHA-256 of the whole text; the text itself is not kept."""

    kind: KeyKind
    id: KeyId
    digest: bytes


ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

ID_LENGTH = 10
SECRET_LENGTH = 32
CHECKSUM_LENGTH = 6

BYTE_LIMIT = 256 - 256 % len(ALPHABET)
"""Bytes from here on are thrown away: taking them modulo 62 would favour the first characters."""

ROUNDS_MAX = 64
"""A sound source needs one or two; running out says the source is broken, not unlucky."""

SPARE_BYTES = 8
"""Drawn beyond what is missing, so that one round nearly always suffices."""

_FORM = re.compile(
    rf"({'|'.join(KeyKind)})_([0-9A-Za-z]{{{ID_LENGTH}}})_"
    rf"[0-9A-Za-z]{{{SECRET_LENGTH}}}([0-9A-Za-z]{{{CHECKSUM_LENGTH}}})"
)


def make_key(kind: KeyKind, entropy_bytes: Callable[[int], bytes]) -> str:
    """Make a new key text. `entropy_bytes(n)` gives n bytes fit for secrets."""
    drawn = _characters(ID_LENGTH + SECRET_LENGTH, entropy_bytes)
    stem = f"{kind.value}_{drawn[:ID_LENGTH]}_{drawn[ID_LENGTH:]}"
    return stem + _checksum(stem)


def read_key(text: str) -> KeyText | None:
    """Take a key text apart; None when length, alphabet or checksum are wrong."""
    match = _FORM.fullmatch(text)
    if match is None or _checksum(text[:-CHECKSUM_LENGTH]) != match[3]:
        return None
    return KeyText(KeyKind(match[1]), KeyId(match[2]), digest_of(text))


def digest_of(text: str) -> bytes:
    """SHA-256 of a whole key text: what is stored and compared instead of it."""
    return hashlib.sha256(text.encode()).digest()


def same_digest(a: bytes, b: bytes) -> bool:
    """Compare two digests in constant time."""
    return hmac.compare_digest(a, b)


def _characters(count: int, entropy_bytes: Callable[[int], bytes]) -> str:
    drawn: list[str] = []
    for _ in range(ROUNDS_MAX):
        batch = entropy_bytes(count - len(drawn) + SPARE_BYTES)
        drawn += [ALPHABET[byte % len(ALPHABET)] for byte in batch if byte < BYTE_LIMIT]
        if len(drawn) >= count:
            return "".join(drawn[:count])
    raise AssertionError("the entropy source gives no usable bytes")


def _checksum(stem: str) -> str:
    rest, digits = zlib.crc32(stem.encode()), ""
    for _ in range(CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits
