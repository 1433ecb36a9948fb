import pytest

from ktms.domain.access.usage_event import BatchLine
from ktms.domain.batch.names import batch_id, event_of_line, file_id, hex_of, read_batch_id, read_file_id
from ktms.domain.ids import uuid7

MS = 1_790_000_000_123
UUID = uuid7(MS, bytes(range(10)))


def test_a_name_is_a_uuid_behind_its_prefix() -> None:
    assert file_id(UUID) == f"file-{UUID.replace('-', '')}"
    assert batch_id(UUID) == f"batch_{UUID.replace('-', '')}"
    assert hex_of(file_id(UUID)) == hex_of(batch_id(UUID)) == UUID.replace("-", "")


def test_names_are_read_back() -> None:
    assert read_file_id(file_id(UUID)) == file_id(UUID)
    assert read_batch_id(batch_id(UUID)) == batch_id(UUID)


@pytest.mark.parametrize(
    "text", ["", "file-", "file-" + "0" * 31, "file-" + "0" * 33, "file-" + "G" * 32, "x" * 37]
)
def test_what_cannot_be_a_name_is_none(text: str) -> None:
    assert read_file_id(text) is None
    assert read_batch_id(text) is None


def test_the_event_of_a_line_is_always_the_same_and_no_other_lines() -> None:
    batch = batch_id(UUID)
    assert event_of_line(BatchLine(batch, 1)) == event_of_line(BatchLine(batch, 1))
    events = {event_of_line(BatchLine(batch, number)) for number in range(1, 1001)}
    assert len(events) == 1000
    other = batch_id(uuid7(MS, bytes(10)))
    assert event_of_line(BatchLine(other, 1)) not in events


def test_the_event_of_a_line_is_a_uuid_of_the_time_of_its_batch() -> None:
    event = event_of_line(BatchLine(batch_id(UUID), 7))
    assert event[:13] == UUID[:13]
    assert (event[14], len(event)) == ("7", 36)
