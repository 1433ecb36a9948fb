"""Files in Postgres: rows of pieces, each sealed with the keyring; nothing is ever read or written whole."""

from collections.abc import Sequence

from ktms.adapters.postgres.batch_rows import FILE, OPEN, check_room, file_of, uuid_of
from ktms.adapters.postgres.piece_writing import write_pieces
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.sealed_columns import file_piece_place
from ktms.domain.batch.batch import PURPOSE, NewFile, StoredFile
from ktms.domain.batch.names import FileId
from ktms.domain.ids import KeyId
from ktms.ports.file_index import FilePage
from ktms.ports.file_store import FileInUse, Piece
from ktms.ports.secrets import Secrets

PIECES_TIMEOUT_S = 10.0
"""A megabyte on a busy disk."""

_BEGIN = """
insert into batch_file (id, owner, tenant, name, purpose, expires_at, size_bytes)
values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second', $7)
on conflict do nothing
"""

_FINISH = """
update batch_file set finished_at = now(), size_bytes = (
    select coalesce(sum(size_bytes), 0) from batch_file_piece where file_id = $1
)
where id = $1
"""

_READ = """
select number, content from batch_file_piece where file_id = $1 and number >= $2 order by number limit $3
"""

_IN_USE = """
select exists (
    select from batch where $1 in (input_file, output_file, error_file) and state = any ($2)
)
"""

_LIST = {
    True: f"""{FILE} where owner = $1 and finished_at is not null and ($2::text is null or purpose = $2)
    and ($3::uuid is null or id < $3) order by id desc limit $4""",
    False: f"""{FILE} where owner = $1 and finished_at is not null and ($2::text is null or purpose = $2)
    and ($3::uuid is null or id > $3) order by id limit $4""",
}
"""By whether the newest come first."""


class PostgresFileStore:
    """Implements the ports FileStore and FileIndex."""

    def __init__(self, database: Database, secrets: Secrets) -> None:
        self._database = database
        self._secrets = secrets

    async def begin(self, file: NewFile) -> None:
        """Begin a file."""
        about = (uuid_of(file.id), file.owner, file.tenant, file.name, PURPOSE, file.keep_s, file.size_max)
        async with self._database.transaction("begin_file") as connection:
            await check_room(connection, file.owner, file.size_max, file.owner_max)
            await connection.execute(_BEGIN, *about)

    async def append(self, file: FileId, pieces: Sequence[Piece]) -> None:
        """Add pieces."""
        async with self._database.transaction("append_file", PIECES_TIMEOUT_S) as connection:
            await write_pieces(connection, self._secrets, uuid_of(file), pieces)

    async def finish(self, file: FileId) -> StoredFile:
        """Let the file be seen."""
        async with self._database.transaction("finish_file", PIECES_TIMEOUT_S) as connection:
            await connection.execute(_FINISH, uuid_of(file))
            row = await connection.fetchrow(f"{FILE} where id = $1", uuid_of(file))
        assert row is not None, "begun before"
        return file_of(row)

    async def read(self, file: FileId, first: int, most: int) -> Sequence[Piece]:
        """Give pieces from this number on."""
        row_id = uuid_of(file)
        async with self._database.session("read_file", PIECES_TIMEOUT_S) as connection:
            rows = await connection.fetch(_READ, row_id, first, most)
        return [
            Piece(number, self._secrets.open(content, file_piece_place(str(row_id), number)))
            for number, content in rows
        ]

    async def delete(self, file: FileId, owner: KeyId | None = None) -> bool:
        """Delete a file; the lock comes first, so that no batch begins with it meanwhile."""
        row_id = uuid_of(file)
        async with self._database.transaction("delete_file", PIECES_TIMEOUT_S) as connection:
            found = await connection.fetchval("select owner from batch_file where id = $1 for update", row_id)
            if found is None or owner not in (None, found):
                return False
            if await connection.fetchval(_IN_USE, row_id, OPEN):
                raise FileInUse
            await connection.execute("delete from batch_file where id = $1", row_id)
            return True

    async def find(self, file: FileId, owner: KeyId) -> StoredFile | None:
        """Give a file."""
        async with self._database.session("find_file") as connection:
            row = await connection.fetchrow(
                f"{FILE} where id = $1 and owner = $2 and finished_at is not null", uuid_of(file), owner
            )
        return None if row is None else file_of(row)

    async def list(self, owner: KeyId, page: FilePage) -> Sequence[StoredFile]:
        """Give files."""
        after = None if page.after is None else uuid_of(page.after)
        async with self._database.session("list_files") as connection:
            rows = await connection.fetch(_LIST[page.newest_first], owner, page.purpose, after, page.limit)
        return [file_of(row) for row in rows]
