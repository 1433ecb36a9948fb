"""Calls that carry an Idempotency-Key, in Postgres (port Repeats).

One statement begins a call or tells what is known of its key, so no two replicas can both begin. Times are those
of the database. Answers are sealed; a large one is sealed and opened off the loop.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import asyncpg

from ktms.adapters.postgres.encryption_state import writable_key_id
from ktms.adapters.postgres.pool import Database
from ktms.adapters.postgres.sealed_columns import kept_answer_place
from ktms.domain.ids import RequestId
from ktms.ports.catalogue import StoreAway
from ktms.ports.repeats import KEPT_S, Begun, Kept, OtherBody, Repeatable, Running
from ktms.ports.secrets import DecryptFailed, Secrets

HEAVY_BYTES = 256 * 1024
"""Encrypting more holds the loop for longer than handing it to a thread takes."""

FORGET_MAX = 500
"""Rows removed in one statement: some milliseconds, and no long lock."""

ROUNDS_MAX = 3
"""A row may be gone between the two halves of one statement; thrice in a row is no coincidence any more."""

_BEGIN = """
with begun as (
    insert into repeatable_call as row (request_id, owner, key, body_digest, expires_at)
    values ($1, $2, $3, $4, now() + make_interval(secs => $5))
    on conflict (owner, key) do update
    set request_id = excluded.request_id, body_digest = excluded.body_digest, expires_at = excluded.expires_at,
        answered = false, answer_key_id = null, answer = null
    where row.expires_at <= now()
    returning true as begun
)
select begun, null::uuid as request_id, null::bytea as body_digest, false as answered, null::bytea as answer
from begun
union all
select false, request_id, body_digest, answered, answer::bytea
from repeatable_call
where owner = $2 and key = $3 and expires_at > now() and not exists (select from begun)
"""

_KEEP = """
update repeatable_call set answered = true, answer_key_id = $4, answer = $5,
    expires_at = now() + make_interval(secs => $6)
where owner = $1 and key = $2 and request_id = $3 and not answered
"""

_GIVE_UP = "delete from repeatable_call where owner = $1 and key = $2 and request_id = $3 and not answered"

_FORGET = """
delete from repeatable_call where request_id in (
    select request_id from repeatable_call where expires_at <= now() order by expires_at limit $1
    for update skip locked
)
"""

T = TypeVar("T")


class PostgresRepeats:
    """Remembers calls by their keys. `secrets` takes answers of the port's size."""

    def __init__(self, database: Database, secrets: Secrets) -> None:
        self._database = database
        self._secrets = secrets

    async def begin(self, call: Repeatable) -> Begun | Running | OtherBody | Kept:
        """Begin a call, or say what is known of the first of its key. One round trip."""
        about = (call.request, call.owner, call.key, call.body_digest, call.runs_s)
        async with self._database.session("begin_call") as connection:
            row = await connection.fetchrow(_BEGIN, *about)
            for _ in range(ROUNDS_MAX - 1):
                if row is None:
                    row = await connection.fetchrow(_BEGIN, *about)
        if row is None:
            raise StoreAway("begin_call: the key is taken and given up all the time")
        return await self._found(call, row)

    async def keep(self, call: Repeatable, answer: bytes | None) -> None:
        """Keep the answer of a call that has begun."""
        async with self._database.transaction("keep_answer") as connection:
            key_id, sealed = None, None
            if answer is not None:
                key_id = await writable_key_id(connection, self._secrets)
                sealed = await self._sealed(call, answer, key_id)
            await connection.execute(_KEEP, call.owner, call.key, call.request, key_id, sealed, KEPT_S)

    async def give_up(self, call: Repeatable) -> None:
        """Forget a call that has begun and came to nothing."""
        async with self._database.session("give_up_call") as connection:
            await connection.execute(_GIVE_UP, call.owner, call.key, call.request)

    async def forget_old(self) -> bool:
        """Remove up to FORGET_MAX rows that are over."""
        async with self._database.session("forget_calls") as connection:
            done: str = await connection.execute(_FORGET, FORGET_MAX)
        return done == f"DELETE {FORGET_MAX}"

    async def _found(self, call: Repeatable, row: asyncpg.Record) -> Begun | Running | OtherBody | Kept:
        if row["begun"]:
            return Begun()
        if row["body_digest"] != call.body_digest:
            return OtherBody()
        if not row["answered"]:
            return Running()
        request, sealed = RequestId(str(row["request_id"])), row["answer"]
        return Kept(request, None if sealed is None else await self._opened(call, request, sealed))

    async def _sealed(self, call: Repeatable, answer: bytes, key_id: str) -> bytes:
        place = kept_answer_place(call.request, call.owner)
        return await _off_the_loop(len(answer), lambda: self._secrets.seal(answer, place, key_id))

    async def _opened(self, call: Repeatable, request: RequestId, sealed: bytes) -> bytes:
        """Open an answer.

        Raises:
            StoreAway: it cannot be opened here: nobody may run the call a second time for that.
        """
        place = kept_answer_place(request, call.owner)
        try:
            return await _off_the_loop(len(sealed), lambda: self._secrets.open(sealed, place))
        except DecryptFailed as error:
            raise StoreAway(f"begin_call: {error}") from error


async def _off_the_loop(size: int, work: Callable[[], T]) -> T:
    if size < HEAVY_BYTES:
        return work()
    return await asyncio.get_running_loop().run_in_executor(None, work)
