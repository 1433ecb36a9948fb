"""Files and batches between rows and values, and the room that an owner has for them.

Statements that read a whole batch begin with BATCH; what is counted of one that has not ended is counted now.
"""

import json
from collections.abc import Collection
from uuid import UUID

import asyncpg

from ktms.domain.batch.batch import Batch, BatchTimes, FileComplaint, StoredFile
from ktms.domain.batch.names import BatchId, FileId, batch_id, file_id
from ktms.domain.batch.names import hex_of as digits_of
from ktms.domain.batch.state import ENDED, BatchState
from ktms.domain.call import Route
from ktms.domain.ids import KeyId, TenantName
from ktms.ports.file_store import FilesFull

OPEN = tuple(state.value for state in BatchState if state not in ENDED)
"""States, as the database has them, in which a batch needs its files."""

FILE = """
select id, owner, name, purpose, size_bytes,
    extract(epoch from created_at)::float8 as created_at, extract(epoch from expires_at)::float8 as expires_at
from batch_file
"""

BATCH = """
select batch.id, batch.owner, batch.tenant, batch.input_file, batch.route, batch.metadata, batch.state,
    batch.complaints,
    greatest(batch.total, live.total) as total,
    greatest(batch.completed, live.completed) as completed,
    greatest(batch.failed, live.failed) as failed,
    (select id from batch_file where id = batch.output_file and finished_at is not null) as output_file,
    (select id from batch_file where id = batch.error_file and finished_at is not null) as error_file,
    array[
        extract(epoch from created_at), extract(epoch from expires_at), extract(epoch from in_progress_at),
        extract(epoch from finalizing_at), extract(epoch from completed_at), extract(epoch from failed_at),
        extract(epoch from expired_at), extract(epoch from cancelling_at), extract(epoch from cancelled_at)
    ]::float8[] as times
from batch, lateral (
    select count(*) as total, count(*) filter (where state = 'done') as completed,
        count(*) filter (where state in ('failed', 'expired')) as failed
    from batch_line
    where batch_line.batch_id = batch.id and batch.state in ('in_progress', 'finalizing', 'cancelling')
) as live
"""


_ALONE = "select pg_advisory_xact_lock(hashtextextended('ktms shelf of ' || $1, 0))"
_ROOM = "select coalesce(sum(size_bytes), 0) + $2 <= $3 from batch_file where owner = $1"


async def check_room(connection: asyncpg.Connection, owner: KeyId, more: int, most: int) -> None:
    """Hold the files of an owner within what they may have, alone until the end of the transaction.

    Raises:
        FilesFull: they would have more.
    """
    await connection.execute(_ALONE, owner)
    if not await connection.fetchval(_ROOM, owner, more, most):
        raise FilesFull


def uuid_of(name: FileId | BatchId) -> UUID:
    """Give the UUID behind a name."""
    return UUID(digits_of(name))


def uuids_of(names: Collection[FileId | BatchId]) -> list[UUID]:
    """Give the UUIDs behind names."""
    return [uuid_of(name) for name in names]


def file_of(row: asyncpg.Record) -> StoredFile:
    """Make a file from its row, as FILE gives it."""
    return StoredFile(
        FileId(file_id(str(row["id"]))),
        KeyId(row["owner"]),
        row["name"],
        row["purpose"],
        row["size_bytes"],
        row["created_at"],
        row["expires_at"],
    )


def batch_of(row: asyncpg.Record) -> Batch:
    """Make a batch from its row, as BATCH gives it."""
    return Batch(
        id=batch_id(str(row["id"])),
        owner=KeyId(row["owner"]),
        tenant=TenantName(row["tenant"]),
        input_file=file_id(str(row["input_file"])),
        route=Route(row["route"]),
        state=BatchState(row["state"]),
        times=BatchTimes(*row["times"]),
        total=row["total"],
        completed=row["completed"],
        failed=row["failed"],
        output_file=None if row["output_file"] is None else file_id(str(row["output_file"])),
        error_file=None if row["error_file"] is None else file_id(str(row["error_file"])),
        metadata=json.loads(row["metadata"]),
        complaints=tuple(FileComplaint(**one) for one in json.loads(row["complaints"])),
    )
