"""The test client's own reading of events."""

from tests.world.events import DONE, C, U, comment, error_event
from tests.world.sse_text import EventSplitter, read_block

STREAM = comment("ping") + C("한글") + U(7, 2) + error_event("no", code=503, name="error") + DONE


def test_a_stream_is_cut_the_same_at_every_split() -> None:
    whole = [event.raw for event in EventSplitter().feed(STREAM, 0.0)]
    assert len(whole) == 5
    for cut in range(len(STREAM) + 1):
        splitter = EventSplitter()
        events = splitter.feed(STREAM[:cut], 0.0) + splitter.feed(STREAM[cut:], 1.0)
        assert [event.raw for event in events] == whole
        assert splitter.left == b""


def test_an_event_keeps_its_name_and_its_data() -> None:
    event = read_block(error_event("no", code=503, name="error"), 2.5)
    assert (event.name, event.at) == ("error", 2.5)
    assert event.json()["error"] == {"message": "no", "type": "invalid_request_error", "code": 503}


def test_a_comment_is_no_event_with_data() -> None:
    event = read_block(comment("ping"), 0.0)
    assert event.is_comment
    assert event.data is None


def test_the_end_mark_is_recognised() -> None:
    assert read_block(DONE, 0.0).is_done


def test_bytes_after_the_last_blank_line_are_kept_apart() -> None:
    splitter = EventSplitter()
    assert splitter.feed(b"data: x\n", 0.0) == []
    assert splitter.left == b"data: x\n"
