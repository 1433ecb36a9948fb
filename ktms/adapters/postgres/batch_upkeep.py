"""Batches in Postgres: examined by one replica at a time, moved on by whoever looks, forgotten in small steps."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from uuid import UUID

import asyncpg

from ktms.adapters.postgres.batch_rows import OPEN, uuid_of
from ktms.adapters.postgres.piece_writing import write_pieces
from ktms.adapters.postgres.pool import Database
from ktms.domain.batch.batch import PURPOSE, FileComplaint
from ktms.domain.batch.names import batch_id, file_id
from ktms.domain.batch.state import ENDED, BatchState, Progress, due
from ktms.domain.call import Route
from ktms.ports.batch_upkeep import (
    ADDED_AT_ONCE,
    FORGOTTEN_AT_ONCE,
    MOVED_AT_ONCE,
    UNFINISHED_MAX_S,
    Examination,
    Moved,
    NewLine,
)
from ktms.ports.file_store import result_pieces
from ktms.ports.line_store import LEASE_S, LineEnd
from ktms.ports.secrets import Secrets

UPKEEP_TIMEOUT_S = 20.0
"""The lines of a batch are 50,000 rows at most; a file has some thousands of pieces."""

_EXAMINE = """
with waiting as (
    select distinct owner from batch where state = 'validating' and lease_until <= now() and expires_at > now()
), turn as materialized (
    select owner, (select max(had.lease_until) from batch as had where had.owner = waiting.owner) as last
    from waiting
)
update batch set claim = claim + 1, lease_until = now() + $1 * interval '1 second'
where id = (
    select batch.id from batch join turn on turn.owner = batch.owner
    where batch.state = 'validating' and batch.lease_until <= now() and batch.expires_at > now()
    order by turn.last, batch.id limit 1 for update of batch skip locked
)
returning id, claim, input_file, error_file, route
"""

_EXAMINED = """
select id, error_file from batch where id = $1 and claim = $2 and state = 'validating' for update
"""

_ADD = """
insert into batch_line (batch_id, number, start_byte, size_bytes, state)
select $1, number, start_byte, size_bytes, state
from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) as given (number, start_byte, size_bytes, state)
on conflict do nothing
"""

_FROM_THE_DEAD = """
update batch_line as line set state = 'waiting', deaths = line.deaths + 1
from (
    select batch_id, number from batch_line where state = 'running' and lease_until <= now()
    order by lease_until limit $1 for update skip locked
) as dead
where line.batch_id = dead.batch_id and line.number = dead.number
"""

_PERHAPS_DUE = """
select id, state, expires_at <= now() as over, output_file, error_file from batch
where state = any ($1) and (
    expires_at <= now() or state in ('finalizing', 'cancelling')
    or (state = 'in_progress' and not exists (
        select from batch_line as line where line.batch_id = batch.id and line.state in ('waiting', 'running')
    ))
)
order by id limit $2 for update skip locked
"""

_PROGRESS = """
select state, count(*) from batch_line where batch_id = $1 group by state
"""

_ENTER = """
update batch set state = $2,
    in_progress_at = case when $2 = 'in_progress' then now() else in_progress_at end,
    finalizing_at = case when $2 = 'finalizing' then now() else finalizing_at end,
    completed_at = case when $2 = 'completed' then now() else completed_at end,
    failed_at = case when $2 = 'failed' then now() else failed_at end,
    expired_at = case when $2 = 'expired' then now() else expired_at end,
    cancelled_at = case when $2 = 'cancelled' then now() else cancelled_at end
where id = $1
"""

_FINISH_RESULTS = """
update batch_file set finished_at = now(), size_bytes = (
    select coalesce(sum(size_bytes), 0) from batch_file_piece where file_id = batch_file.id
)
where id = any ($1) and exists (select from batch_file_piece where file_id = batch_file.id)
"""

_DROP_EMPTY = """
delete from batch_file
where id = any ($1) and not exists (select from batch_file_piece where file_id = batch_file.id)
"""

_KEEP_COUNTS = "update batch set total = $2, completed = $3, failed = $4 where id = $1"

_WAITING = """
select count(*) from batch_line as line join batch on batch.id = line.batch_id
where line.state = 'waiting' and batch.state = any ($1)
"""

_OLD_FILES = """
delete from batch_file where id in (
    select id from batch_file
    where (expires_at <= now() or (
        finished_at is null and purpose = $3 and created_at <= now() - $4 * interval '1 second'
    )) and not exists (
        select from batch
        where batch_file.id in (batch.input_file, batch.output_file, batch.error_file) and state = any ($1)
    )
    order by expires_at limit $2 for update skip locked
)
returning id
"""

_OLD_BATCHES = """
delete from batch where id in (
    select id from batch where keep_until <= now() and state <> all ($1)
    order by keep_until limit $2 for update skip locked
)
returning id
"""


class PostgresBatchUpkeep:
    """Implements the port BatchUpkeep."""

    def __init__(self, database: Database, secrets: Secrets) -> None:
        self._database = database
        self._secrets = secrets

    async def examine(self) -> Examination | None:
        """Claim a batch to be examined."""
        async with self._database.transaction("examine_batch", UPKEEP_TIMEOUT_S) as connection:
            row = await connection.fetchrow(_EXAMINE, LEASE_S)
            if row is None:
                return None
            await _drop_lines(connection, row["id"], row["error_file"])
        return Examination(
            batch_id(str(row["id"])), row["claim"], file_id(str(row["input_file"])), Route(row["route"])
        )

    async def add_lines(self, examination: Examination, lines: Sequence[NewLine]) -> bool:
        """Store lines that were found."""
        assert len(lines) <= ADDED_AT_ONCE, "bounded by the caller"
        batch = uuid_of(examination.batch)
        async with self._database.transaction("add_lines", UPKEEP_TIMEOUT_S) as connection:
            row = await connection.fetchrow(_EXAMINED, batch, examination.claim)
            if row is None:
                return False
            renew = "update batch set lease_until = now() + $2 * interval '1 second' where id = $1"
            await connection.execute(renew, batch, LEASE_S)
            await connection.execute(
                _ADD,
                batch,
                [line.number for line in lines],
                [line.start for line in lines],
                [line.size_bytes for line in lines],
                ["waiting" if line.error is None else LineEnd.FAILED.value for line in lines],
            )
            errors = [piece for line in lines if line.error for piece in result_pieces(line.number, line.error)]
            if errors:
                await write_pieces(connection, self._secrets, row["error_file"], errors)
            return True

    async def examined(self, examination: Examination, complaints: Sequence[FileComplaint]) -> None:
        """End an examination."""
        batch = uuid_of(examination.batch)
        async with self._database.transaction("end_examination", UPKEEP_TIMEOUT_S) as connection:
            row = await connection.fetchrow(_EXAMINED, batch, examination.claim)
            if row is None:
                return
            if not complaints:
                await connection.execute(_ENTER, batch, BatchState.IN_PROGRESS.value)
                return
            told = json.dumps([asdict(complaint) for complaint in complaints])
            await connection.execute("update batch set complaints = $2 where id = $1", batch, told)
            await _drop_lines(connection, batch, row["error_file"])
            await self._enter(connection, batch, BatchState.FAILED)

    async def move_on(self) -> Sequence[Moved]:
        """Take lines back from the dead, and move batches on."""
        moved: list[Moved] = []
        async with self._database.transaction("move_batches", UPKEEP_TIMEOUT_S) as connection:
            await connection.execute(_FROM_THE_DEAD, ADDED_AT_ONCE)
            for row in await connection.fetch(_PERHAPS_DUE, OPEN, MOVED_AT_ONCE):
                batch, state = row["id"], BatchState(row["state"])
                progress = await _progress(connection, batch)
                while (following := due(state, progress, over=row["over"])) is not None:
                    if following is BatchState.EXPIRED and state is BatchState.VALIDATING:
                        await _drop_lines(connection, batch, row["error_file"])
                    await self._enter(connection, batch, following)
                    moved.append(Moved(batch_id(str(batch)), following))
                    state = following
        return moved

    async def waiting(self) -> int:
        """Count the lines that wait."""
        async with self._database.session("count_lines", UPKEEP_TIMEOUT_S) as connection:
            return int(await connection.fetchval(_WAITING, OPEN))

    async def forget_old(self) -> int:
        """Delete files and batches whose time is over."""
        async with self._database.session("forget_batches", UPKEEP_TIMEOUT_S) as connection:
            files = await connection.fetch(_OLD_FILES, OPEN, FORGOTTEN_AT_ONCE, PURPOSE, UNFINISHED_MAX_S)
            batches = await connection.fetch(_OLD_BATCHES, OPEN, FORGOTTEN_AT_ONCE)
        return len(files) + len(batches)

    async def _enter(self, connection: asyncpg.Connection, batch: UUID, state: BatchState) -> None:
        await connection.execute(_ENTER, batch, state.value)
        if state not in ENDED:
            return
        progress = await _progress(connection, batch)
        failed = progress.failed + progress.expired
        await connection.execute(_KEEP_COUNTS, batch, progress.total, progress.done, failed)
        row = await connection.fetchrow("select output_file, error_file from batch where id = $1", batch)
        for statement in (_FINISH_RESULTS, _DROP_EMPTY):
            await connection.execute(statement, list(row))


async def _progress(connection: asyncpg.Connection, batch: UUID) -> Progress:
    return Progress(**{row["state"]: row["count"] for row in await connection.fetch(_PROGRESS, batch)})


async def _drop_lines(connection: asyncpg.Connection, batch: UUID, errors: UUID) -> None:
    await connection.execute("delete from batch_line where batch_id = $1", batch)
    await connection.execute("delete from batch_file_piece where file_id = $1", errors)
