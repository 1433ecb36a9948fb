"""A file and a batch as their owner sees them. Shapes and bounds only.

Times are wall seconds since 1970, by the clock of the store.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ktms.domain.batch.names import BatchId, FileId
from ktms.domain.batch.state import BatchState
from ktms.domain.call import Route
from ktms.domain.ids import KeyId, TenantName

LINES_MAX = 50_000
"""OpenAI's own bound: scripts that split their work by it need no other number."""

LINE_BYTES_MAX = 8 * 1024 * 1024
"""A conversation with a few images. Each line under way is held in memory, so it is less than for one call."""

WINDOW_S = 24 * 3600.0
"""The one completion window there is, as in OpenAI's API ("24h")."""

KEEP_S = 30 * 24 * 3600.0
"""How long files and batches are kept, unless an operator says otherwise: content must not lie about for good."""

FILES_MAX_BYTES = 20_000 * 1024 * 1024
"""What the files of one key may have together, results included: an upload costs its sender nothing."""

BATCHES_OPEN_MAX = 100
"""Batches of one key that have not ended: five million lines, and each is a row whatever stands in it."""

METADATA_MAX = 16
METADATA_NAME_MAX = 64
METADATA_VALUE_MAX = 512
"""OpenAI's own bounds."""

COMPLAINTS_MAX = 20
"""What is wrong with a whole file fits into a few words."""

PURPOSE = "batch"
RESULT_PURPOSE = "batch_output"


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that is about to come. `size_max`: no larger than that; `owner_max`: all of its owner's together."""

    id: FileId
    owner: KeyId
    tenant: TenantName
    name: str
    keep_s: float
    size_max: int = 0
    owner_max: int = FILES_MAX_BYTES


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that is there wholly."""

    id: FileId
    owner: KeyId
    name: str
    purpose: str
    size_bytes: int
    created_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Once:
    """The client's word for a batch that is not to be made twice, and the digest of what it asked for."""

    word: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class NewBatch:
    """A batch that a client wants; its owner is the key that makes it. The two result files are empty as yet.

    `owner_max`: what the files of its owner may have together, for results to have room.
    """

    id: BatchId
    owner: KeyId
    tenant: TenantName
    input_file: FileId
    output_file: FileId
    error_file: FileId
    route: Route
    metadata: Mapping[str, str]
    window_s: float = WINDOW_S
    keep_s: float = KEEP_S
    once: Once | None = None
    owner_max: int = FILES_MAX_BYTES


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """When a batch entered its states; None: never so far."""

    created_at: float
    expires_at: float
    in_progress_at: float | None = None
    finalizing_at: float | None = None
    completed_at: float | None = None
    failed_at: float | None = None
    expired_at: float | None = None
    cancelling_at: float | None = None
    cancelled_at: float | None = None


@dataclass(frozen=True, slots=True)
class FileComplaint:
    """What is wrong with a whole input file; quotes nothing of it."""

    code: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch. The result files are named once it has ended and they hold something."""

    id: BatchId
    owner: KeyId
    tenant: TenantName
    input_file: FileId
    route: Route
    state: BatchState
    times: BatchTimes
    total: int = 0
    completed: int = 0
    failed: int = 0
    output_file: FileId | None = None
    error_file: FileId | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    complaints: tuple[FileComplaint, ...] = ()
