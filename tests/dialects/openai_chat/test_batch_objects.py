import json
from dataclasses import replace

from openai.types import Batch as BatchShape
from openai.types import FileDeleted, FileObject

from ktms.dialects.openai_chat.batch_objects import (
    batch_body,
    batches_body,
    deleted_body,
    file_body,
    files_body,
)
from ktms.domain.batch.batch import Batch, BatchTimes, FileComplaint, StoredFile
from ktms.domain.batch.names import batch_id, file_id
from ktms.domain.batch.state import BatchState
from ktms.domain.call import Route
from ktms.domain.ids import KeyId, TenantName, uuid7

UUID = uuid7(1_790_000_000_000, bytes(10))
FILE = StoredFile(file_id(UUID), KeyId("k" * 10), "in.jsonl", "batch", 12, 1_790_000_000.9, 1_790_000_100.1)
BATCH = Batch(
    batch_id(UUID),
    KeyId("k" * 10),
    TenantName("t"),
    FILE.id,
    Route.CHAT,
    BatchState.FAILED,
    BatchTimes(1_790_000_000.5, 1_790_086_400.5, failed_at=1_790_000_001.5),
    3,
    1,
    2,
    metadata={"a": "b"},
    complaints=(FileComplaint("empty_file", "no lines", 1),),
)


def test_a_file_is_what_clients_expect() -> None:
    shape = FileObject.model_validate(json.loads(file_body(FILE)), strict=True)
    assert (shape.created_at, shape.expires_at) == (1_790_000_000, 1_790_000_100)
    assert FileDeleted.model_validate(json.loads(deleted_body(FILE.id)), strict=True).deleted


def test_a_batch_is_what_clients_expect() -> None:
    shape = BatchShape.model_validate(json.loads(batch_body(BATCH)), strict=True)
    assert (shape.status, shape.failed_at, shape.completed_at) == ("failed", 1_790_000_001, None)
    assert shape.errors is not None
    assert shape.errors.data is not None
    assert (shape.errors.data[0].code, shape.errors.data[0].line) == ("empty_file", 1)


def test_a_batch_without_complaints_has_no_errors() -> None:
    assert json.loads(batch_body(replace(BATCH, complaints=())))["errors"] is None


def test_lists_name_their_ends() -> None:
    assert json.loads(files_body([FILE], more=False))["last_id"] == FILE.id
    listed = json.loads(batches_body([BATCH], more=True))
    assert (listed["object"], listed["has_more"], listed["first_id"], listed["last_id"]) == (
        "list",
        True,
        BATCH.id,
        BATCH.id,
    )
    assert json.loads(files_body([], more=False)) == {
        "object": "list",
        "data": [],
        "first_id": None,
        "last_id": None,
        "has_more": False,
    }
