"""The reader against a slow one written straight from the WHATWG text, at every byte split."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktms.dialects import sse
from ktms.dialects.sse import Event, EventCutter, EventReader, EventTooLarge, field_of, lines_of, split_events

WORDS = "data|:| |\n|\r|\r\n|\n\n|\r\r|\r\n\r\n|id|event|retry|foo|data: {}|data:a|data:  b|: comment|event: error"
WORDS += "|id: 9|id: a\0b|retry: 10|é한🙂|\u2028|\x85|\x0b|\x0c|\0|\ufeff"
PIECES = st.sampled_from([*(word.encode() for word in WORDS.split("|")), b"\xff", b"\xe2\x80", b"\xef"])
STREAMS = st.lists(PIECES, max_size=24).map(b"".join)


def reference(stream: bytes) -> list[Event]:
    """HTML, 9.2.6, step by step on decoded text; then the one step of ours: an unended event at the end counts."""
    text = stream.decode(errors="replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    data = kind = last_id = ""
    events = []

    def dispatch() -> None:
        nonlocal data, kind
        if data:
            events.append(Event(kind or "message", data[:-1].encode(), last_id))
        data = kind = ""

    for line in lines:
        if not line:
            dispatch()
            continue
        if line.startswith(":"):
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data += value + "\n"
        elif name == "id" and "\0" not in value:
            last_id = value
    dispatch()
    return events


def read(pieces: list[bytes]) -> list[Event]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.end()
    return [Event(event.type, event.data.decode(errors="replace").encode(), event.id) for event in events]


def cut_at(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    return [stream[start:end] for start, end in itertools.pairwise(places)]


@settings(max_examples=400, deadline=None)
@given(stream=STREAMS)
def test_every_split_in_two_reads_as_the_text_says(stream: bytes) -> None:
    expected = reference(stream)
    for cut in range(len(stream) + 1):
        assert read([stream[:cut], stream[cut:]]) == expected


@settings(max_examples=400, deadline=None)
@given(stream=STREAMS, cuts=st.lists(st.integers(0, 200), max_size=12))
def test_any_pieces_read_as_the_text_says(stream: bytes, cuts: list[int]) -> None:
    assert read(cut_at(stream, cuts)) == reference(stream)


@settings(max_examples=200, deadline=None)
@given(stream=STREAMS)
def test_single_bytes_read_as_the_text_says(stream: bytes) -> None:
    assert read([bytes([byte]) for byte in stream]) == reference(stream)


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_p01_events_leave_byte_for_byte_at_every_split(line_end: bytes) -> None:
    stream = b"".join(
        line + line_end for line in (b"data: a", b"", b": c", b"data: b", b"data: c", b"", b"data: [DONE]", b"")
    )
    for cut in range(len(stream) + 1):
        cutter = EventCutter()
        assert cutter.feed(stream[:cut]) + cutter.feed(stream[cut:]) == stream
        assert cutter.end() == b""


@pytest.mark.parametrize("line_end", [b"\n", b"\r", b"\r\n"])
def test_p01_the_last_event_is_not_held_back_for_a_byte_that_may_follow(line_end: bytes) -> None:
    stream = b"data: [DONE]" + line_end + line_end
    cutter = EventCutter()
    assert cutter.feed(stream[: -len(line_end)]) == b""
    assert cutter.feed(line_end[:1]) != b""


def test_p01_mixed_line_ends_give_each_event_once() -> None:
    stream = b"data: 1\r\n\r\ndata: 2\r\rdata: 3\n\ndata: 4\r\n\rdata: 5\n\r\n"
    assert [event.data for event in read([stream])] == [b"1", b"2", b"3", b"4", b"5"]


def test_p02_one_space_is_optional_and_unknown_fields_are_skipped() -> None:
    stream = b"\xef\xbb\xbfevent:delta\ndata:a\nfoo: 1\n\ndata:  b\n\ndata:[DONE]\n\n"
    assert read([stream]) == [
        Event("delta", b"a", ""),
        Event("message", b" b", ""),
        Event("message", b"[DONE]", ""),
    ]


def test_p03_a_character_cut_anywhere_arrives_whole() -> None:
    stream = "data: 한글🙂\n\n".encode()
    for cut in range(len(stream) + 1):
        assert [event.data.decode() for event in read([stream[:cut], stream[cut:]])] == ["한글🙂"]


def test_p04_no_separator_is_added_inside_an_event() -> None:
    cutter = EventCutter()
    assert cutter.feed(b'data: {"content":"hel') == b""
    assert cutter.feed(b'lo"}\n\n') == b'data: {"content":"hello"}\n\n'


def test_p07_an_event_at_the_end_without_its_blank_line_is_taken() -> None:
    for rest in (b"data: [DONE]", b"data: [DONE]\n", b"data: [DONE]\r"):
        cutter = EventCutter()
        assert cutter.feed(rest) == b""
        assert split_events(cutter.end()) != []
        assert cutter.end() == b""


def test_stray_blank_lines_are_no_event() -> None:
    cutter = EventCutter()
    assert split_events(cutter.feed(b"\n\n\n\ndata: a\n\n\n")) == [b"data: a\n\n"]
    assert cutter.feed(b"\n") == b""
    assert cutter.end() == b""
    assert split_events(b"\r\r\r\rdata: a\r\r") == [b"data: a\r\r"]


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    cutter = EventCutter()
    assert cutter.feed(b"\xef") == b""
    assert cutter.feed(b"\xbb") == b""
    assert cutter.feed(b"\xbfdata: a\n\n") == b"data: a\n\n"
    assert cutter.feed(b"\xef\xbb\xbfdata: a\n\n") == b"\xef\xbb\xbfdata: a\n\n"


def test_half_a_byte_order_mark_is_data() -> None:
    cutter = EventCutter()
    assert cutter.feed(b"\xef\xbb") == b""
    assert cutter.end() == b"\xef\xbb\n\n"


def test_the_id_lasts_and_one_with_nul_is_ignored() -> None:
    assert read([b"id: 1\ndata: a\n\nid: x\0\ndata: b\n\nid\ndata: c\n\n"]) == [
        Event("message", b"a", "1"),
        Event("message", b"b", "1"),
        Event("message", b"c", ""),
    ]


def test_an_event_longer_than_the_cap_is_refused() -> None:
    cutter = EventCutter(max_bytes=10)
    assert cutter.feed(b"data: 789") == b""
    with pytest.raises(EventTooLarge):
        cutter.feed(b"ab")


def test_many_events_may_be_longer_than_the_cap_together() -> None:
    cutter = EventCutter(max_bytes=10)
    assert cutter.feed(b"data: 1\n\n" * 20) == b"data: 1\n\n" * 20


def test_a_long_line_in_small_pieces_costs_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    search = sse._behind_last_event

    def counted(data: bytes) -> int:
        nonlocal searched
        searched += len(data)
        return search(data)

    monkeypatch.setattr(sse, "_behind_last_event", counted)
    cutter = EventCutter()
    for _ in range(20_000):
        assert cutter.feed(b"x") == b""
    assert len(cutter._held) == 20_000  # nothing was joined on the way
    assert len(cutter.feed(b"\n\n")) == 20_002
    assert searched <= 2 * 20_002


def test_an_event_of_many_short_lines_costs_linear_work(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = 0
    search = sse._behind_last_event

    def counted(data: bytes) -> int:
        nonlocal searched
        searched += len(data)
        return search(data)

    monkeypatch.setattr(sse, "_behind_last_event", counted)
    cutter = EventCutter()
    for _ in range(10_000):
        assert cutter.feed(b"\r") + cutter.feed(b"\n") + cutter.feed(b"a") == b""
    assert searched <= 2 * 30_000


def test_lines_keep_their_ends() -> None:
    assert lines_of(b"a\r\nb\rc\n\n") == [(b"a", b"\r\n"), (b"b", b"\r"), (b"c", b"\n"), (b"", b"\n")]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"data: a", (b"data", b"a")),
        (b"data:  a", (b"data", b" a")),
        (b"data:a: b", (b"data", b"a: b")),
        (b"data", (b"data", b"")),
        (b": c", (b"", b"c")),
    ],
)
def test_fields_are_split_at_the_first_colon(line: bytes, field: tuple[bytes, bytes]) -> None:
    assert field_of(line) == field
