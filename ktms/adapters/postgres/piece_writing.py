"""Writing the pieces of files, each sealed in its place under the primary key that the transaction holds."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.encryption_state import writable_key_id
from ktms.adapters.postgres.sealed_columns import file_piece_place
from ktms.ports.file_store import Piece
from ktms.ports.secrets import Secrets

_INSERT = """
insert into batch_file_piece (file_id, number, size_bytes, key_id, content)
select $1, number, size_bytes, $2, content
from unnest($3::bigint[], $4::bigint[], $5::bytea[]) as given (number, size_bytes, content)
on conflict (file_id, number) do update
set size_bytes = excluded.size_bytes, key_id = excluded.key_id, content = excluded.content
"""


async def write_pieces(
    connection: asyncpg.Connection, secrets: Secrets, file: UUID, pieces: Sequence[Piece]
) -> None:
    """Store pieces of one file, in the transaction under way; a piece that is there already is replaced.

    Raises:
        StoreAway: this replica cannot write under the database's key.
    """
    key_id = await writable_key_id(connection, secrets)
    sealed = [secrets.seal(piece.content, file_piece_place(str(file), piece.number), key_id) for piece in pieces]
    await connection.execute(
        _INSERT,
        file,
        key_id,
        [piece.number for piece in pieces],
        [len(piece.content) for piece in pieces],
        sealed,
    )
