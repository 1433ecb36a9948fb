"""Files and batches in Postgres beyond their contract: what lies in the tables, and who waits for whom."""

import asyncio

import asyncpg
import pytest

from ktms.adapters.envelope.keyring_secrets import KeyringSecrets
from ktms.adapters.postgres.batch_rows import uuid_of
from ktms.adapters.postgres.batch_store import PostgresBatchStore
from ktms.adapters.postgres.batch_upkeep import PostgresBatchUpkeep
from ktms.adapters.postgres.file_store import PostgresFileStore
from ktms.adapters.postgres.line_store import PostgresLineStore
from ktms.adapters.postgres.piece_writing import write_pieces
from ktms.adapters.postgres.pool import Database
from ktms.domain.access.actor import Actor
from ktms.domain.batch.names import FileId
from ktms.ports.catalogue import StoreAway
from ktms.ports.entropy import Entropy
from ktms.ports.file_store import Piece
from ktms.ports.line_store import LineEnd, LineResult
from ktms.ports.secrets import DecryptFailed
from tests.contracts.shelf_stage import OWNER, Shelf

CANARY = b"canary-in-a-file"


@pytest.fixture
async def shelf(database: Database, keyring_secrets: KeyringSecrets, entropy: Entropy) -> Shelf:
    async def nothing(_: float = 0.0) -> None: ...

    files = PostgresFileStore(database, keyring_secrets)
    lines = PostgresLineStore(database, keyring_secrets)
    upkeep = PostgresBatchUpkeep(database, keyring_secrets)
    return Shelf(files, files, PostgresBatchStore(database, entropy), lines, upkeep, nothing, nothing)


async def test_content_lies_encrypted(shelf: Shelf, sql: asyncpg.Connection) -> None:
    await shelf.file(CANARY)
    batch = await shelf.batch(1)
    (line,) = await shelf.lines.claim(batch, 1)
    await shelf.lines.finish(line.ref, LineResult(LineEnd.DONE, CANARY))
    rows = await sql.fetch("select content from batch_file_piece")
    assert len(rows) == 3
    assert not any(CANARY in row["content"] for row in rows)


async def test_pieces_cannot_change_places(shelf: Shelf, sql: asyncpg.Connection) -> None:
    name = await shelf.file(b"first", b"second")
    await sql.execute("update batch_file_piece set number = number + 10")
    await sql.execute("update batch_file_piece set number = 11 - number")
    with pytest.raises(DecryptFailed):
        await shelf.files.read(name, 0, 2)


async def test_pieces_cannot_be_given_to_another_file(shelf: Shelf, sql: asyncpg.Connection) -> None:
    name, other = await shelf.file(b"mine"), await shelf.file()
    await sql.execute("update batch_file_piece set file_id = $1", uuid_of(other))
    assert await shelf.content(name) == b""
    with pytest.raises(DecryptFailed):
        await shelf.content(other)


async def test_a_writer_with_another_key_is_refused(shelf: Shelf, sql: asyncpg.Connection) -> None:
    name = await shelf.file()
    await sql.execute("insert into encryption_key values ('newer', '\\x0102030405060708')")
    await sql.execute("update encryption_state set primary_id = 'newer'")
    with pytest.raises(StoreAway, match="keyring lacks the key newer"):
        await shelf.files.append(name, [Piece(0, b"x")])


async def test_a_piece_that_comes_again_replaces_itself(
    shelf: Shelf, database: Database, keyring_secrets: KeyringSecrets
) -> None:
    name: FileId = await shelf.file(b"old")
    async with database.transaction("again") as connection:
        await write_pieces(connection, keyring_secrets, uuid_of(name), [Piece(0, b"new")])
    assert await shelf.content(name) == b"new"


async def test_a_cancellation_waits_for_a_claim_under_way_and_no_line_begins_after_it(
    shelf: Shelf, sql: asyncpg.Connection
) -> None:
    batch = await shelf.batch(5)
    async with asyncio.TaskGroup() as group, sql.transaction():
        await sql.execute("select from batch where id = $1 for share", uuid_of(batch))
        cancelling = group.create_task(shelf.batches.cancel(batch, OWNER))
        await sql.execute("select pg_sleep(0.1)")
        assert not cancelling.done()
    assert list(await shelf.lines.claim(batch, 5)) == []


async def test_a_file_is_not_deleted_while_a_batch_is_being_made_of_it(
    shelf: Shelf, sql: asyncpg.Connection
) -> None:
    name = await shelf.file(b"x")
    async with asyncio.TaskGroup() as group, sql.transaction():
        await sql.execute("select from batch_file where id = $1 for key share", uuid_of(name))
        deleting = group.create_task(shelf.files.delete(name, OWNER))
        await sql.execute("select pg_sleep(0.1)")
        assert not deleting.done()
    assert deleting.result()


async def test_an_operators_cancellation_is_audited_once(
    shelf: Shelf, sql: asyncpg.Connection, actor: Actor
) -> None:
    batch = await shelf.batch(1)
    await shelf.batches.cancel(batch, actor)
    await shelf.batches.cancel(batch, actor)
    rows = await sql.fetch("select actor, action, subject from audit")
    assert [tuple(row) for row in rows] == [("tester", "cancel_batch", f"batch {batch}")]
