"""Encryption of what must not lie in plain text."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Place:
    """Where a ciphertext lives; bound into it, so it cannot be moved.

    `row` is UUID text, `owner` too, or the public id of a key.
    """

    table: str
    column: str
    row: str
    owner: str


class DecryptFailed(Exception):
    """A stored ciphertext cannot be opened: moved, relabelled, truncated, flipped, or its key is not here."""

    def __init__(self, table: str, row: str) -> None:
        super().__init__(f"{table}: row {row} cannot be decrypted")
        self.table = table
        self.row = row


class Secrets(Protocol):
    """Seals and opens secrets with the keyring."""

    def key_ids(self) -> tuple[str, ...]:
        """Ids of the keys at hand, the preferred one first."""
        ...

    def check_value(self, key_id: str) -> bytes:
        """Give 8 bytes that prove which key goes by this id, without revealing it."""
        ...

    def seal(self, plain: bytes, place: Place, key_id: str) -> bytes:
        """Encrypt under the key of that id; the caller names the primary id of the database."""
        ...

    def open(self, sealed: bytes, place: Place) -> bytes:
        """Decrypt.

        Raises:
            DecryptFailed: for every kind of damage and for an unknown key, one and the same error.
        """
        ...
