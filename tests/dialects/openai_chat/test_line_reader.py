from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from ktms.dialects.openai_chat.line_reader import FileLine, LineReader


def read(*pieces: bytes, limit: int = 100) -> list[FileLine]:
    reader = LineReader(limit)
    return [line for piece in pieces for line in reader.feed(piece)] + list(reader.end())


def test_lines_are_found_with_their_places() -> None:
    assert read(b"ab\ncd\n") == [FileLine(1, 0, 2, b"ab"), FileLine(2, 3, 2, b"cd")]


def test_the_last_line_needs_no_end() -> None:
    assert read(b"ab\ncd") == read(b"ab\ncd\n")


def test_lines_of_blanks_are_counted_and_not_given() -> None:
    assert read(b"\n \t\r\nab\n\n") == [FileLine(3, 5, 2, b"ab")]
    assert read(b"") == []


def test_a_carriage_return_stays_as_a_blank() -> None:
    assert read(b"ab\r\n") == [FileLine(1, 0, 3, b"ab\r")]


def test_a_byte_order_mark_is_no_text() -> None:
    assert read(b"\xef\xbb\xbfab\n\xef\xbb\xbf\n") == [
        FileLine(1, 3, 2, b"ab"),
        FileLine(2, 6, 3, b"\xef\xbb\xbf"),
    ]
    assert read(b"\xef\xbb\xbf\n") == []


def test_what_has_not_ended_is_told_in_bytes() -> None:
    reader = LineReader(100)
    assert [line.text for line in reader.feed(b"one\ntwo")] == [b"one"]
    assert reader.held_bytes == 3


def test_a_line_beyond_the_limit_is_measured_and_not_kept() -> None:
    reader = LineReader(3)
    assert list(reader.feed(b"abc\nab")) == [FileLine(1, 0, 3, b"abc")]
    assert list(reader.feed(b"cdef")) == []
    assert reader._parts == []
    assert list(reader.feed(b"g\nx\n")) == [FileLine(2, 4, 7, None), FileLine(3, 12, 1, b"x")]


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")), st.data())
def test_pieces_do_not_matter(content: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    pieces = [content[a:b] for a, b in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    assert read(*pieces, limit=10) == read(content, limit=10)


@given(st.binary(max_size=80))
def test_every_line_is_where_it_says(content: bytes) -> None:
    for line in read(content):
        assert line.text == content[line.start : line.start + line.size_bytes]


def test_a_file_of_nothing_but_line_ends_is_read_in_a_moment() -> None:
    reader, began_at = LineReader(100), process_time()
    for _ in range(20):
        assert list(reader.feed(b" \n\r\n\n" * 180_000)) == []
    assert list(reader.feed(b"ab\n")) == [FileLine(20 * 3 * 180_000 + 1, 20 * 5 * 180_000, 2, b"ab")]
    assert process_time() - began_at < 5.0


@given(st.text(" \t\r\na", max_size=40), st.data())
def test_blanks_in_any_pieces_are_counted_alike(text: str, data: st.DataObject) -> None:
    content = text.encode()
    cut = data.draw(st.integers(0, len(content)))
    lines = [(number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip()]
    assert [(line.number, line.text) for line in read(content[:cut], content[cut:])] == lines
