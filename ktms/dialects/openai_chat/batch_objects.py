"""Files and batches in OpenAI's shapes. Not here: which of them a key may see (engine)."""

from collections.abc import Sequence

from ktms.dialects.json import as_json
from ktms.dialects.openai_chat.batch_line import PREFIX
from ktms.domain.batch.batch import Batch, StoredFile
from ktms.domain.batch.names import BatchId, FileId

WINDOW = "24h"
"""The one completion window there is."""


def file_body(file: StoredFile) -> bytes:
    """Write one file."""
    return as_json(_file(file))


def files_body(files: Sequence[StoredFile], *, more: bool) -> bytes:
    """Write a list of files; `more`: there are others behind it."""
    return _list([_file(file) for file in files], [file.id for file in files], more=more)


def deleted_body(file: FileId) -> bytes:
    """Write the answer to the deletion of a file."""
    return as_json({"id": file, "object": "file", "deleted": True})


def batch_body(batch: Batch) -> bytes:
    """Write one batch."""
    return as_json(_batch(batch))


def batches_body(batches: Sequence[Batch], *, more: bool) -> bytes:
    """Write a list of batches; `more`: there are others behind it."""
    return _list([_batch(batch) for batch in batches], [batch.id for batch in batches], more=more)


def _list(data: Sequence[object], ids: Sequence[FileId | BatchId], *, more: bool) -> bytes:
    ends = {"first_id": ids[0] if ids else None, "last_id": ids[-1] if ids else None}
    return as_json({"object": "list", "data": data, **ends, "has_more": more})


def _file(file: StoredFile) -> dict[str, object]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size_bytes,
        "created_at": int(file.created_at),
        "expires_at": int(file.expires_at),
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def _batch(batch: Batch) -> dict[str, object]:
    times = batch.times
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": f"{PREFIX}{batch.route.value}",
        "errors": _errors(batch),
        "input_file_id": batch.input_file,
        "completion_window": WINDOW,
        "status": batch.state.value,
        "output_file_id": batch.output_file,
        "error_file_id": batch.error_file,
        "created_at": int(times.created_at),
        "in_progress_at": _second(times.in_progress_at),
        "expires_at": int(times.expires_at),
        "finalizing_at": _second(times.finalizing_at),
        "completed_at": _second(times.completed_at),
        "failed_at": _second(times.failed_at),
        "expired_at": _second(times.expired_at),
        "cancelling_at": _second(times.cancelling_at),
        "cancelled_at": _second(times.cancelled_at),
        "request_counts": {"total": batch.total, "completed": batch.completed, "failed": batch.failed},
        "metadata": dict(batch.metadata) or None,
    }


def _errors(batch: Batch) -> dict[str, object] | None:
    if not batch.complaints:
        return None
    data = [
        {"code": one.code, "message": one.message, "param": None, "line": one.line} for one in batch.complaints
    ]
    return {"object": "list", "data": data}


def _second(at: float | None) -> int | None:
    return None if at is None else int(at)
