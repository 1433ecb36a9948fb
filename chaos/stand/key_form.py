"""Keys of the gateway's own form, made without it: the first owner's, and one that no gateway has ever made.

`<kind>_<10 id>_<32 secret><6 checksum>` over 0-9A-Za-z; the checksum is CRC-32 of all before it. Written down here
a second time: the suite knows the product from outside. Not here: keys of clients, which a gateway makes.
"""

import base64
import secrets
import zlib

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

DRAWN_CHARS = 42
"""Ten of the id, then 32 of the secret."""

ID_CHARS = 10
CHECKSUM_CHARS = 6


def new_admin_key() -> str:
    """Make the key of a first owner, for KTMS_BOOTSTRAP_ADMIN_KEY and KTMS_ADMIN_KEY."""
    return _key("ktms_adm")


def stranger_key() -> str:
    """Make a client key of the right form that nobody has made."""
    return _key("ktms_sk")


def new_keyring() -> str:
    """Make KTMS_ENCRYPTION_KEYS: one key, 32 bytes in base64url."""
    return "chaos-1:" + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def _key(kind: str) -> str:
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(DRAWN_CHARS))
    stem = f"{kind}_{drawn[:ID_CHARS]}_{drawn[ID_CHARS:]}"
    rest, digits = zlib.crc32(stem.encode()), ""
    for _ in range(CHECKSUM_CHARS):
        rest, digit = divmod(rest, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return stem + digits
