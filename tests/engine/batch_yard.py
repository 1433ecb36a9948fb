"""Batches on a rig: stores in memory, a worker and a keeper of its own per replica, everything on virtual time."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ktms.adapters.memory.batch_store import MemoryBatchStore
from ktms.adapters.memory.batch_upkeep import MemoryBatchUpkeep
from ktms.adapters.memory.file_store import MemoryFileStore
from ktms.adapters.memory.line_store import MemoryLineStore
from ktms.adapters.memory.shelf import MemoryShelf
from ktms.api.status_table import status_of
from ktms.domain.batch.batch import Batch, NewBatch, NewFile
from ktms.domain.batch.names import BatchId, batch_id, file_id
from ktms.domain.batch.state import ENDED
from ktms.domain.call import Route
from ktms.domain.catalogue import Catalogue
from ktms.domain.ids import TenantName
from ktms.engine.batch_keeper import BatchKeeper
from ktms.engine.batch_worker import BatchWorker, WorkerMeans
from ktms.engine.outbox import Outbox
from ktms.ports.file_store import PIECE_BYTES, Piece
from ktms.ports.line_store import LineStore
from tests.engine.rig import CATALOGUE, Rig, key_id, replica_of
from tests.engine.virtual_loop import after

DAY_S = 24 * 3600.0


def text_of(custom_id: str, model: str = "cloudy", **members: object) -> bytes:
    """Write one line for a chat."""
    body = {"model": model, "messages": [{"role": "user", "content": custom_id}], **members}
    line = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(line).encode() + b"\n"


@dataclass
class Replica:
    """One replica's part in it."""

    rig: Rig
    worker: BatchWorker
    keeper: BatchKeeper
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    def kill(self) -> None:
        """Let nothing of it run again; what it wanted to say at the end falls into nothing."""
        self.rig.store.away = True
        for task in self.tasks:
            task.cancel()


@dataclass
class Yard:
    """All of it. `replica` is the first one."""

    rig: Rig
    shelf: MemoryShelf
    group: asyncio.TaskGroup
    lines_max: int
    replicas: list[Replica] = field(default_factory=list)

    @property
    def replica(self) -> Replica:
        return self.replicas[0]

    def add(self, rig: Rig, lines: LineStore | None = None, *, starts: bool = True) -> Replica:
        """Start a replica's worker and keeper, and the rest of its work."""
        stirred = asyncio.Event()
        worker = BatchWorker(
            WorkerMeans(
                engine=rig.switchboard,
                admission=rig.admission,
                lines=lines or MemoryLineStore(self.shelf),
                files=MemoryFileStore(self.shelf),
                outbox=Outbox(rig.reports, rig.ledger, rig.entropy, rig.telemetry),
                identities=rig.identities,
                drain=rig.drain,
                clock=rig.clock,
                telemetry=rig.telemetry,
                status_of=status_of,
                stir=stirred.set,
                lines_max=self.lines_max,
            )
        )
        keeper = BatchKeeper(
            MemoryBatchUpkeep(self.shelf),
            MemoryFileStore(self.shelf),
            rig.slots,
            drain=rig.drain,
            entropy=rig.entropy,
            telemetry=rig.telemetry,
            woken=stirred,
            wake=worker.wake,
        )
        made = Replica(rig, worker, keeper)
        self.replicas.append(made)
        works = (worker.run, keeper.run, rig.sweeper.run, rig.prober.run) if starts else ()
        made.tasks += [self.group.create_task(work()) for work in works]
        return made

    async def batch(self, *lines: bytes, window_s: float = DAY_S) -> BatchId:
        """Store a batch of these lines, which the keeper finds by itself."""
        fresh = self.rig.identities.request
        names = (batch_id(fresh()), file_id(fresh()), file_id(fresh()), file_id(fresh()))
        files, owner, tenant = MemoryFileStore(self.shelf), key_id(), TenantName("default")
        await files.begin(NewFile(names[1], owner, tenant, "in", DAY_S))
        content = b"".join(lines)
        pieces = [content[at : at + PIECE_BYTES] for at in range(0, len(content), PIECE_BYTES)]
        await files.append(names[1], [Piece(number, piece) for number, piece in enumerate(pieces)])
        await files.finish(names[1])
        new = NewBatch(names[0], owner, tenant, *names[1:], Route.CHAT, {}, window_s)
        assert await MemoryBatchStore(self.shelf).create(new) is not None
        return names[0]

    async def found(self, batch: BatchId) -> Batch:
        found = await MemoryBatchStore(self.shelf).find(batch, None)
        assert found is not None
        return found

    async def ended(self, batch: BatchId, within_s: float = 120.0) -> Batch:
        """Wait until a batch has ended."""
        async with asyncio.timeout(within_s):
            while (found := await self.found(batch)).state not in ENDED:
                await after(0.5)
        return found

    async def cancel(self, batch: BatchId) -> None:
        assert await MemoryBatchStore(self.shelf).cancel(batch, key_id()) is not None

    def results(self, batch: BatchId, *, ok: bool = True) -> list[dict[str, object]]:
        """Read a result file, as it is now."""
        new = self.shelf.batches[batch].new
        row = self.shelf.files.get(new.output_file if ok else new.error_file)
        content = b"" if row is None else b"".join(row.pieces[number] for number in sorted(row.pieces))
        return [json.loads(text) for text in content.splitlines()]

    def booked(self) -> list[tuple[str, int]]:
        """Give the lines that usage was booked for, by all replicas."""
        events = [event for one in self.replicas for event in one.rig.ledger.events]
        return [
            (event.batch_line.batch, event.batch_line.line) for event in events if event.batch_line is not None
        ]


@asynccontextmanager
async def yard(
    catalogue: Catalogue = CATALOGUE, *, lines_max: int = 4, replicas: int = 1, starts: bool = True
) -> AsyncIterator[Yard]:
    """Run replicas of one installation."""
    rig = await replica_of(catalogue)
    async with asyncio.TaskGroup() as group:
        made = Yard(rig, MemoryShelf(rig.clock, rig.store), group, lines_max)
        made.add(rig, starts=starts)
        for number in range(1, replicas):
            made.add(await rig.peer(f"peer-{number}"), starts=starts)
        yield made
        for replica in made.replicas:
            for task in replica.tasks:
                task.cancel()


def named(results: Sequence[dict[str, object]]) -> list[object]:
    """Give the custom ids of results, in their order."""
    return [result["custom_id"] for result in results]
