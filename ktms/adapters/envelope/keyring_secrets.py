"""Secrets at rest: one envelope per value, bound to the place it lies in.

Form: version 1 | length of key id | key id | salt 16 | nonce 12 | commitment 32 | AES-256-GCM ciphertext and tag.

HKDF-SHA256 over the key and the message's own salt gives 32 bytes for AES and 32 bytes of commitment: every
message has its own key, so the bound of 2^32 messages per GCM key (NIST SP 800-38D) does not touch the key of the
keyring, and a ciphertext opens under exactly one key (GCM alone does not promise that). Associated data is all
that must not change: table, column, row, owner, key id and the header. Parsing is strict and every failure is the
same.

Not here: which key id to use (the database's primary one) and where envelopes are stored.
"""

import hmac
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from ktms.domain.access.keyring import Keyring
from ktms.ports.entropy import Entropy
from ktms.ports.secrets import DecryptFailed, Place

VERSION = 1
SALT_BYTES = 16
NONCE_BYTES = 12
COMMITMENT_BYTES = 32
TAG_BYTES = 16
CHECK_VALUE_BYTES = 8

KEY_ID_BYTES_MAX = 16
"""The longest id a keyring accepts."""

SEALED_BYTES_MAX = 65_536
"""No secret of ours comes near it; what is larger is not an envelope. The database's domain says the same."""

SEALED_ANSWER_BYTES_MAX = 8_519_680
"""An answer of 8 MiB with its facts, and a rest; the database's domain for answers says the same."""

OVERHEAD_BYTES_MAX = 2 + KEY_ID_BYTES_MAX + SALT_BYTES + NONCE_BYTES + COMMITMENT_BYTES + TAG_BYTES
"""What an envelope adds under the longest key id."""

PLAIN_BYTES_MAX = SEALED_BYTES_MAX - OVERHEAD_BYTES_MAX
"""What fits into the largest envelope of a secret."""


@dataclass(frozen=True, slots=True)
class _Parts:
    key_id: str
    salt: bytes
    nonce: bytes
    commitment: bytes
    body: bytes
    header: bytes


class KeyringSecrets:
    """Seals and opens with the keys of one keyring (port: Secrets), envelopes of `sealed_bytes_max` at most."""

    def __init__(self, keyring: Keyring, entropy: Entropy, *, sealed_bytes_max: int = SEALED_BYTES_MAX) -> None:
        self._keyring = keyring
        self._entropy = entropy
        self._sealed_bytes_max = sealed_bytes_max

    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys at hand, the preferred one first."""
        return tuple(self._keyring.ids)

    def check_value(self, key_id: str) -> bytes:
        """Give 8 bytes that prove which key goes by this id, without revealing it."""
        proof = hmac.digest(self._keyring.key(key_id), b"ktms/kcv/v1" + key_id.encode(), "sha256")
        return proof[:CHECK_VALUE_BYTES]

    def seal(self, plain: bytes, place: Place, key_id: str) -> bytes:
        """Encrypt under the key of that id, which must be in the keyring."""
        assert len(plain) <= self._sealed_bytes_max - OVERHEAD_BYTES_MAX, "whoever takes a secret in bounds it"
        salt = self._entropy.token_bytes(SALT_BYTES)
        nonce = self._entropy.token_bytes(NONCE_BYTES)
        key, commitment = _derive(self._keyring.key(key_id), key_id, salt)
        named = key_id.encode()
        header = bytes((VERSION, len(named))) + named + salt + nonce + commitment
        return header + AESGCM(key).encrypt(nonce, plain, _associated(place, key_id, header))

    def open(self, sealed: bytes, place: Place) -> bytes:
        """Decrypt.

        Raises:
            DecryptFailed: for every kind of damage and for an unknown key, one and the same error.
        """
        parts = _parse(sealed) if len(sealed) <= self._sealed_bytes_max else None
        if parts is None or parts.key_id not in self._keyring.ids:
            raise DecryptFailed(place.table, place.row)
        key, commitment = _derive(self._keyring.key(parts.key_id), parts.key_id, parts.salt)
        if not hmac.compare_digest(commitment, parts.commitment):
            raise DecryptFailed(place.table, place.row)
        try:
            return AESGCM(key).decrypt(parts.nonce, parts.body, _associated(place, parts.key_id, parts.header))
        except InvalidTag as error:
            raise DecryptFailed(place.table, place.row) from error


def _parse(sealed: bytes) -> _Parts | None:
    if len(sealed) < 2 or sealed[0] != VERSION:
        return None
    named = sealed[2 : 2 + sealed[1]]
    salt_at = 2 + sealed[1]
    nonce_at = salt_at + SALT_BYTES
    commitment_at = nonce_at + NONCE_BYTES
    body_at = commitment_at + COMMITMENT_BYTES
    if not 1 <= sealed[1] <= KEY_ID_BYTES_MAX or not named.isascii() or len(sealed) < body_at + TAG_BYTES:
        return None
    return _Parts(
        named.decode("ascii"),
        sealed[salt_at:nonce_at],
        sealed[nonce_at:commitment_at],
        sealed[commitment_at:body_at],
        sealed[body_at:],
        sealed[:body_at],
    )


def _derive(key: bytes, key_id: str, salt: bytes) -> tuple[bytes, bytes]:
    length = 32 + COMMITMENT_BYTES
    both = HKDF(SHA256(), length=length, salt=salt, info=b"ktms/enc/v1" + key_id.encode()).derive(key)
    return both[:32], both[32:]


def _associated(place: Place, key_id: str, header: bytes) -> bytes:
    texts = ("ktms/aad/v1", place.table, place.column, place.row, place.owner, key_id)
    parts = [text.encode() for text in texts] + [bytes((VERSION,)), header]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
