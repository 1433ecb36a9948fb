"""Files and batches of a gateway from their ports: the doors, and what runs beside the calls.

As `assemble.py`, which it is a part of, it knows no adapter.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ktms.api.body import BodyLimits
from ktms.api.openai.batches import BatchesDoor
from ktms.api.openai.files import FilesDoor
from ktms.api.openai.served import Serving
from ktms.api.openai.upload import FILE_MAX_BYTES
from ktms.api.routes import Routes
from ktms.api.status_table import status_of
from ktms.api.wire import Dates
from ktms.domain.batch.batch import FILES_MAX_BYTES, KEEP_S
from ktms.engine.admit import Admission
from ktms.engine.batch_keeper import BatchKeeper
from ktms.engine.batch_shelf import ClientShelf, ShelfMeans
from ktms.engine.batch_worker import LINES_AT_ONCE, BatchWorker, WorkerMeans
from ktms.engine.drain import Drain
from ktms.engine.ids import Identities
from ktms.engine.lasting import Loop
from ktms.engine.outbox import Outbox
from ktms.engine.switchboard import Switchboard
from ktms.ports.batch_store import BatchStore
from ktms.ports.batch_upkeep import BatchUpkeep
from ktms.ports.clock import Clock
from ktms.ports.entropy import Entropy
from ktms.ports.file_index import FileIndex
from ktms.ports.file_store import FileStore
from ktms.ports.fleet_board import FleetBoard
from ktms.ports.line_store import LineStore
from ktms.ports.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class BatchPorts:
    """The stores of files and batches."""

    files: FileStore
    index: FileIndex
    batches: BatchStore
    lines: LineStore
    upkeep: BatchUpkeep


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """How large a file may be, and all files of a key, how many lines one replica runs, how long all is kept."""

    file_max_bytes: int = FILE_MAX_BYTES
    files_max_bytes: int = FILES_MAX_BYTES
    lines_max: int = LINES_AT_ONCE
    keep_s: float = KEEP_S


@dataclass(frozen=True, slots=True)
class BatchSurroundings:
    """What of the gateway it leans on."""

    engine: Switchboard
    admission: Admission
    identities: Identities
    drain: Drain
    outbox: Outbox
    board: FleetBoard
    clock: Clock
    entropy: Entropy
    telemetry: Telemetry
    dates: Dates
    body: BodyLimits


@dataclass(frozen=True, slots=True)
class BatchParts:
    """Routes for the port, and works to be run beside the calls."""

    routes: Routes
    works: Mapping[str, Loop]


def batch_parts(ports: BatchPorts, around: BatchSurroundings, settings: BatchSettings) -> BatchParts:
    """Wire files and batches; nothing runs before its work does."""
    shelf = ClientShelf(
        ShelfMeans(
            admission=around.admission,
            files=ports.files,
            index=ports.index,
            batches=ports.batches,
            identities=around.identities,
            drain=around.drain,
            telemetry=around.telemetry,
            keep_s=settings.keep_s,
            files_max=settings.files_max_bytes,
        )
    )
    worker = BatchWorker(
        WorkerMeans(
            engine=around.engine,
            admission=around.admission,
            lines=ports.lines,
            files=ports.files,
            outbox=around.outbox,
            identities=around.identities,
            drain=around.drain,
            clock=around.clock,
            telemetry=around.telemetry,
            status_of=status_of,
            stir=shelf.stirred.set,
            lines_max=settings.lines_max,
        )
    )
    keeper = BatchKeeper(
        ports.upkeep,
        ports.files,
        around.board,
        drain=around.drain,
        entropy=around.entropy,
        telemetry=around.telemetry,
        woken=shelf.stirred,
        wake=worker.wake,
    )
    serving = Serving(shelf, around.identities, around.clock, around.dates, around.telemetry)
    files = FilesDoor(shelf, serving, around.body, settings.file_max_bytes)
    batches = BatchesDoor(shelf, serving, around.body, settings.keep_s)
    works = {"run-lines": worker.run, "keep-batches": keeper.run, "withdraw-batches": shelf.doubts.run}
    return BatchParts({**files.routes(), **batches.routes()}, works)
