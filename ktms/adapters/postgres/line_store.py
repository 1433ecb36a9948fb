"""Lines of batches in Postgres: each is handed to one replica at a time, and has one result.

A claim holds the row of its batch, so none comes after a cancellation; lines that another replica is just taking
are passed over (SKIP LOCKED). A result is stored in one transaction with the end of its line.
"""

from collections.abc import Collection, Mapping, Sequence

import asyncpg

from ktms.adapters.postgres.batch_rows import uuid_of
from ktms.adapters.postgres.piece_writing import write_pieces
from ktms.adapters.postgres.pool import Database
from ktms.domain.batch.line import ClaimedLine, LineRef
from ktms.domain.batch.names import BatchId, batch_id, file_id
from ktms.domain.call import Route
from ktms.domain.ids import KeyId
from ktms.ports.file_store import PIECES_AT_ONCE, result_pieces
from ktms.ports.line_store import LEASE_S, READY_MAX, LineEnd, LineResult, ReadyBatch
from ktms.ports.secrets import Secrets

RESULT_TIMEOUT_S = 15.0
"""The largest answer is 64 MB; most are some kilobytes."""

_READY = """
select id, owner from (
    select id, owner, row_number() over (partition by owner order by id) as turn from batch
    where state in ('in_progress', 'finalizing') and exists (
        select from batch_line as line
        where line.batch_id = batch.id and line.state = 'waiting'
            and (line.not_before <= now() or batch.state = 'finalizing')
    )
) as ready
order by turn, id limit $1
"""

_CLAIM = """
with whole as (
    select id, owner, route, input_file, state, expires_at from batch
    where id = $1 and state in ('in_progress', 'finalizing') for share
), free as (
    select line.number from batch_line as line, whole
    where line.batch_id = whole.id and line.state = 'waiting'
        and (line.not_before <= now() or whole.state = 'finalizing')
    order by line.number limit $2
    for update of line skip locked
)
update batch_line as line
set state = 'running', claim = line.claim + 1, lease_until = now() + $3 * interval '1 second'
from free, whole
where line.batch_id = whole.id and line.number = free.number
returning line.number, line.claim, line.start_byte, line.size_bytes, line.failures, line.deaths,
    whole.owner, whole.route, whole.input_file,
    case when whole.state = 'in_progress' then extract(epoch from whole.expires_at - now()) else 0 end::float8
        as left_s
"""

_RENEW = """
update batch_line as line set lease_until = now() + $4 * interval '1 second'
from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as held (batch_id, number, claim), batch
where line.batch_id = held.batch_id and line.number = held.number and line.claim = held.claim
    and line.state = 'running' and batch.id = line.batch_id
returning line.batch_id, line.number, line.claim, batch.state in ('in_progress', 'finalizing') as wanted
"""

_FINISH = """
update batch_line as line set state = $4 from batch
where line.batch_id = $1 and line.number = $2 and line.claim = $3 and line.state = 'running'
    and batch.id = line.batch_id
returning case when $4 = 'done' then batch.output_file else batch.error_file end as file
"""

_IS_FINISHED = """
select exists (select from batch_line where batch_id = $1 and number = $2 and claim = $3 and state = $4)
"""

_GIVE_BACK = """
update batch_line
set state = 'waiting', not_before = now() + $4 * interval '1 second', failures = failures + $5::bigint
where batch_id = $1 and number = $2 and claim = $3 and state = 'running'
"""


class PostgresLineStore:
    """Implements the port LineStore."""

    def __init__(self, database: Database, secrets: Secrets) -> None:
        self._database = database
        self._secrets = secrets

    async def ready(self) -> Sequence[ReadyBatch]:
        """Give batches with lines to be run."""
        async with self._database.session("ready_batches") as connection:
            rows = await connection.fetch(_READY, READY_MAX)
        return [ReadyBatch(batch_id(str(row["id"])), KeyId(row["owner"])) for row in rows]

    async def claim(self, batch: BatchId, most: int) -> Sequence[ClaimedLine]:
        """Claim lines of a batch."""
        async with self._database.session("claim_lines") as connection:
            rows = await connection.fetch(_CLAIM, uuid_of(batch), most, LEASE_S)
        return sorted((_claimed(batch, row) for row in rows), key=lambda line: line.ref.number)

    async def renew(self, lines: Collection[LineRef]) -> Mapping[LineRef, bool]:
        """Renew claims."""
        batches, numbers, claims = ([uuid_of(ref.batch) for ref in lines], *_columns(lines))
        async with self._database.session("renew_lines") as connection:
            rows = await connection.fetch(_RENEW, batches, numbers, claims, LEASE_S)
        return {
            LineRef(batch_id(str(row["batch_id"])), row["number"], row["claim"]): row["wanted"] for row in rows
        }

    async def finish(self, line: LineRef, result: LineResult) -> bool:
        """Store the result of a line."""
        claim = (uuid_of(line.batch), line.number, line.claim, result.end.value)
        async with self._database.transaction("finish_line", RESULT_TIMEOUT_S) as connection:
            row = await connection.fetchrow(_FINISH, *claim)
            if row is None:
                return bool(await connection.fetchval(_IS_FINISHED, *claim))
            pieces = result_pieces(line.number, result.text)
            for at in range(0, len(pieces), PIECES_AT_ONCE):
                await write_pieces(connection, self._secrets, row["file"], pieces[at : at + PIECES_AT_ONCE])
            return True

    async def give_back(self, line: LineRef, pause_s: float, *, failed: bool) -> None:
        """Let a line be run again."""
        async with self._database.session("give_back_line") as connection:
            await connection.execute(
                _GIVE_BACK, uuid_of(line.batch), line.number, line.claim, pause_s, int(failed)
            )


def _columns(lines: Collection[LineRef]) -> tuple[list[int], list[int]]:
    return [ref.number for ref in lines], [ref.claim for ref in lines]


def _claimed(batch: BatchId, row: asyncpg.Record) -> ClaimedLine:
    return ClaimedLine(
        ref=LineRef(batch, row["number"], row["claim"]),
        owner=KeyId(row["owner"]),
        route=Route(row["route"]),
        input_file=file_id(str(row["input_file"])),
        start=row["start_byte"],
        size_bytes=row["size_bytes"],
        left_s=row["left_s"],
        failures=row["failures"],
        deaths=row["deaths"],
    )


assert {end.value for end in LineEnd} == {"done", "failed", "expired"}, "the statements name them"
