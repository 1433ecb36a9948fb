"""Batches in Postgres, as their owners see them."""

import json
from collections.abc import Sequence

import asyncpg

from ktms.adapters.postgres.audit import write_audit
from ktms.adapters.postgres.batch_rows import BATCH, OPEN, batch_of, check_room, uuid_of
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor
from ktms.domain.batch.batch import BATCHES_OPEN_MAX, PURPOSE, RESULT_PURPOSE, Batch, NewBatch
from ktms.domain.batch.names import BatchId, batch_id
from ktms.domain.batch.state import CANCELLABLE, BatchState
from ktms.domain.ids import KeyId
from ktms.ports.batch_store import OtherBatch, TooManyBatches
from ktms.ports.entropy import Entropy

LIST_TIMEOUT_S = 10.0
"""Lines of batches under way are counted for it."""

_HAS_FILE = """
select from batch_file
where id = $1 and owner = $2 and finished_at is not null and purpose = $3 for key share
"""

_OPEN = "select count(*) from batch where owner = $1 and state = any ($2)"

_MADE = "select id, once_digest from batch where id = $1 or (owner = $2 and once = $3)"

_CREATE = """
insert into batch (
    id, owner, tenant, input_file, output_file, error_file, route, metadata, expires_at, keep_until,
    once, once_digest
)
values (
    $1, $2, $3, $4, $5, $6, $7, $8, now() + $9 * interval '1 second', now() + $10 * interval '1 second', $11, $12
)
on conflict do nothing
"""

_RESULT_FILE = """
insert into batch_file (id, owner, tenant, name, purpose, expires_at)
values ($1, $2, $3, $4, $5, now() + $6 * interval '1 second')
on conflict do nothing
"""

_CANCEL = """
update batch set state = $3, cancelling_at = now()
where id = $1 and ($2::text is null or owner = $2) and state = any ($4)
"""


class PostgresBatchStore:
    """Implements the port BatchStore."""

    def __init__(self, database: Database, entropy: Entropy) -> None:
        self._database = database
        self._entropy = entropy

    async def create(self, batch: NewBatch) -> Batch | None:
        """Store a batch."""
        async with self._database.transaction("create_batch") as connection:
            known = await _made(connection, batch)
            if known is None:
                if await connection.fetchrow(_HAS_FILE, uuid_of(batch.input_file), batch.owner, PURPOSE) is None:
                    return None
                await check_room(connection, batch.owner, 1, batch.owner_max)
                if await connection.fetchval(_OPEN, batch.owner, OPEN) >= BATCHES_OPEN_MAX:
                    raise TooManyBatches
                await _insert(connection, batch)  # of two at once with one word, one waits here and makes none
                known = await _made(connection, batch)
            assert known is not None, "made here or by the other one"
            return await _read(connection, known, batch.owner)

    async def find(self, batch: BatchId, owner: KeyId | None) -> Batch | None:
        """Give a batch."""
        async with self._database.session("find_batch") as connection:
            return await _read(connection, batch, owner)

    async def list(self, owner: KeyId | None, limit: int, after: BatchId | None) -> Sequence[Batch]:
        """Give batches, newest first."""
        statement = f"""{BATCH} where ($1::text is null or batch.owner = $1)
        and ($2::uuid is null or batch.id < $2) order by batch.id desc limit $3"""
        behind = None if after is None else uuid_of(after)
        async with self._database.session("list_batches", LIST_TIMEOUT_S) as connection:
            return [batch_of(row) for row in await connection.fetch(statement, owner, behind, limit)]

    async def cancel(self, batch: BatchId, by: KeyId | Actor) -> Batch | None:
        """Cancel a batch that may be; claims of its lines hold the row, so none comes after this."""
        may = [state.value for state in CANCELLABLE]
        owner = None if isinstance(by, Actor) else by
        async with self._database.transaction("cancel_batch") as connection:
            done = await connection.execute(_CANCEL, uuid_of(batch), owner, BatchState.CANCELLING.value, may)
            if isinstance(by, Actor) and not done.endswith(" 0"):
                await write_audit(connection, self._entropy, by, "cancel_batch", f"batch {batch}", {}, None)
            return await _read(connection, batch, owner)


async def _made(connection: asyncpg.Connection, batch: NewBatch) -> BatchId | None:
    """Give the batch that there is already.

    Raises:
        OtherBatch: the word was used for another one.
    """
    word = None if batch.once is None else batch.once.word
    row = await connection.fetchrow(_MADE, uuid_of(batch.id), batch.owner, word)
    if row is not None and batch.once is not None and row["once_digest"] != batch.once.digest:
        raise OtherBatch
    return None if row is None else batch_id(str(row["id"]))


async def _insert(connection: asyncpg.Connection, batch: NewBatch) -> None:
    made = await connection.execute(
        _CREATE,
        uuid_of(batch.id),
        batch.owner,
        batch.tenant,
        uuid_of(batch.input_file),
        uuid_of(batch.output_file),
        uuid_of(batch.error_file),
        batch.route.value,
        json.dumps(dict(batch.metadata)),
        batch.window_s,
        batch.keep_s,
        None if batch.once is None else batch.once.word,
        None if batch.once is None else batch.once.digest,
    )
    if made.endswith(" 0"):
        return
    for file, word in ((batch.output_file, "output"), (batch.error_file, "error")):
        name = f"{batch.id}_{word}.jsonl"
        await connection.execute(
            _RESULT_FILE, uuid_of(file), batch.owner, batch.tenant, name, RESULT_PURPOSE, batch.keep_s
        )


async def _read(connection: asyncpg.Connection, batch: BatchId, owner: KeyId | None) -> Batch | None:
    row = await connection.fetchrow(
        f"{BATCH} where batch.id = $1 and ($2::text is null or batch.owner = $2)", uuid_of(batch), owner
    )
    return None if row is None else batch_of(row)
