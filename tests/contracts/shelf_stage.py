"""The stores of files and batches, in memory, in a simulated world and on a real Postgres.

`later` moves the store's time on; `take_away` makes it unreachable.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import asyncpg

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.clock import ManualClock
from ktms.adapters.memory.entropy import SeededEntropy
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.adapters.memory.store import MemoryStore
from ktms.adapters.postgres.batch_store import PostgresBatchStore
from ktms.adapters.postgres.batch_upkeep import PostgresBatchUpkeep
from ktms.adapters.postgres.file_store import PostgresFileStore
from ktms.adapters.postgres.line_store import PostgresLineStore
from ktms.adapters.postgres.pool import Database
from ktms.domain.batch.batch import Batch, NewBatch, NewFile
from ktms.domain.batch.line import ClaimedLine
from ktms.domain.batch.names import BatchId, FileId, batch_id, file_id
from ktms.domain.call import Route
from ktms.domain.ids import KeyId, TenantName, uuid7
from ktms.ports.batch_store import BatchStore
from ktms.ports.batch_upkeep import BatchUpkeep, NewLine
from ktms.ports.file_index import FileIndex
from ktms.ports.file_store import FileStore, Piece
from ktms.ports.line_store import LineStore
from ktms.ports.secrets import Secrets
from sim.fakes.postgres.server import SimPostgres
from sim.fakes.postgres.shelf import SimBatchStore, SimBatchUpkeep, SimFileStore, SimLineStore
from sim.journal.journal import Journal
from sim.seed import Seed
from sim.trace import Trace

Act = Callable[[], Awaitable[None]]

OWNER, OTHER, TENANT = KeyId("0123456789"), KeyId("abcdefghij"), TenantName("default")
BORN_MS = 1_790_000_000_000


@dataclass(slots=True)
class Shelf:
    """All ports, and what a suite does with them again and again."""

    files: FileStore
    index: FileIndex
    batches: BatchStore
    lines: LineStore
    upkeep: BatchUpkeep
    later: Callable[[float], Awaitable[None]]
    take_away: Act
    made: int = 0

    def fresh(self) -> str:
        """Give a UUID that sorts behind all before it."""
        self.made += 1
        return uuid7(BORN_MS + self.made, bytes(10))

    async def file(self, *pieces: bytes, owner: KeyId = OWNER, keep_s: float = 3600.0) -> FileId:
        """Store a file."""
        name = file_id(self.fresh())
        await self.files.begin(NewFile(name, owner, TENANT, "in.jsonl", keep_s))
        await self.files.append(name, [Piece(number, piece) for number, piece in enumerate(pieces)])
        await self.files.finish(name)
        return name

    async def new_batch(self, **members: object) -> NewBatch:
        """Say what a batch is to be, with a file of its own."""
        given = members.pop("input_file", None) or await self.file(b"lines")
        ids = (batch_id(self.fresh()), OWNER, TENANT, given, file_id(self.fresh()), file_id(self.fresh()))
        new = NewBatch(*ids, Route.CHAT, {"a": "b"})  # type: ignore[arg-type]  # the file is one
        return replace(new, **members)  # type: ignore[arg-type]  # members by name

    async def batch(self, lines: int = 3, **members: object) -> BatchId:
        """Store a batch that is in progress, with so many lines."""
        new = await self.new_batch(**members)
        assert await self.batches.create(new) is not None
        examination = await self.upkeep.examine()
        assert examination is not None
        assert await self.upkeep.add_lines(examination, [NewLine(n, 10 * n, 9) for n in range(1, lines + 1)])
        await self.upkeep.examined(examination, ())
        return new.id

    async def found(self, batch: BatchId) -> Batch:
        """Give a batch as its owner sees it."""
        found = await self.batches.find(batch, OWNER)
        assert found is not None
        return found

    async def one(self, batch: BatchId) -> ClaimedLine:
        """Claim one line."""
        (line,) = await self.lines.claim(batch, 1)
        return line

    async def content(self, file: FileId) -> bytes:
        """Read a file wholly."""
        return b"".join(piece.content for piece in await self.files.read(file, 0, 1000))


def over(shelf: MemoryShelf, later: Callable[[float], None], store: MemoryStore) -> Shelf:
    async def wait(seconds: float) -> None:
        later(seconds)

    async def take_away() -> None:
        store.away = True

    files = MemoryFileStore(shelf)
    ports = (MemoryBatchStore(shelf), MemoryLineStore(shelf), MemoryBatchUpkeep(shelf))
    return Shelf(files, files, *ports, wait, take_away)


def shelf_in_memory() -> Shelf:
    store, clock = MemoryStore(), ManualClock()
    return over(MemoryShelf(clock, store), clock.advance, store)


def shelf_in_a_world() -> Shelf:
    """One replica's view of a world's database."""
    server, clock = SimPostgres(Seed(1), Trace()), ManualClock()
    server.shelf = MemoryShelf(clock, server.store)
    line, journal = server.line("gw1"), Journal(lambda: 0.0)

    async def later(seconds: float) -> None:
        clock.advance(seconds)

    async def take_away() -> None:
        server.mode("postgres_away", on=True)

    files = SimFileStore(line)
    ports = (SimBatchStore(line), SimLineStore(line, journal), SimBatchUpkeep(line, journal))
    return Shelf(files, files, *ports, later, take_away)


def shelf_on_postgres(database: Database, dsn: str, close: Act, secrets: Secrets) -> Shelf:
    async def later(seconds: float) -> None:
        connection = await asyncpg.connect(dsn)
        for table, columns in _MOMENTS.items():
            moved = ", ".join(f"{column} = {column} - $1 * interval '1 second'" for column in columns)
            await connection.execute(f"update {table} set {moved}", seconds)  # noqa: S608  # constants
        await connection.close()

    files = PostgresFileStore(database, secrets)
    ports = (
        PostgresBatchStore(database, SeededEntropy("shelf")),
        PostgresLineStore(database, secrets),
        PostgresBatchUpkeep(database, secrets),
    )
    return Shelf(files, files, *ports, later, close)


_MOMENTS = {
    "batch_file": ("created_at", "expires_at"),
    "batch": ("created_at", "expires_at", "keep_until", "lease_until"),
    "batch_line": ("lease_until", "not_before"),
}
"""Time goes on for the database when all of its moments go back."""
