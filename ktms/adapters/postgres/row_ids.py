"""Row ids made by us, because a ciphertext is bound to its row before the row exists."""

from uuid import UUID

from ktms.ports.entropy import Entropy

ROW_ID_BYTES = 16


def new_row_id(entropy: Entropy) -> UUID:
    """Make a random row id (UUID version 4)."""
    return UUID(bytes=entropy.token_bytes(ROW_ID_BYTES), version=4)
