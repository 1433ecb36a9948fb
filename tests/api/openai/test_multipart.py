import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktms.api.openai.multipart import BadForm, Event, FormReader, PartBegins, PartData, boundary_of

EDGE = b"edge"


def read(*pieces: bytes) -> tuple[list[tuple[str, str | None, bytes]], bool]:
    """Give name, file name and content of each part, and whether the form was complete."""
    reader = FormReader(EDGE)
    found: list[tuple[str, str | None, bytes]] = []
    for event in (event for piece in pieces for event in reader.feed(piece)):
        add(found, event)
    return found, reader.ended


def add(found: list[tuple[str, str | None, bytes]], event: Event) -> None:
    if isinstance(event, PartBegins):
        found.append((event.name, event.file_name, b""))
    else:
        assert isinstance(event, PartData)
        name, file_name, content = found[-1]
        found[-1] = name, file_name, content + event.data


def part(head: bytes, content: bytes) -> bytes:
    return b"--edge\r\n" + head + b"\r\n\r\n" + content + b"\r\n"


NAMED = b'Content-Disposition: form-data; name="a"'
FORM = part(NAMED, b"1\r\n--edg\r\n--edgf") + part(b"X: y\r\n" + NAMED + b'; filename="b"', b"") + b"--edge--\r\n"
WANTED = [("a", None, b"1\r\n--edg\r\n--edgf"), ("a", "b", b"")]


def test_parts_are_told_with_what_is_in_them() -> None:
    assert read(FORM) == (WANTED, True)


@given(st.lists(st.integers(0, len(FORM)), max_size=6))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    ends = sorted(cuts)
    pieces = [FORM[a:b] for a, b in zip([0, *ends], [*ends, len(FORM)], strict=True)]
    assert read(*pieces) == (WANTED, True)


def test_what_follows_the_end_is_no_part() -> None:
    assert read(FORM, b"--edge\r\nmore") == (WANTED, True)


def test_a_form_without_its_end_is_not_complete() -> None:
    assert read(FORM[:-6])[1] is False


@pytest.mark.parametrize(
    "head",
    [
        b'content-disposition:form-data;name="a"',
        b'Content-Disposition: form-data; filename*=x; name="a"',
        b"Content-Disposition: form-data; name=a",
        b'Content-Disposition: form-data; filename="b; name=c"; name=a ; x=y;',
        b'Content-Type: text/plain\r\nCONTENT-DISPOSITION: form-data; NAME="a"',
    ],
)
def test_heads_are_read_as_clients_write_them(head: bytes) -> None:
    assert read(part(head, b"x") + b"--edge--")[0][0][0] == "a"


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        (b"filename=in.jsonl", "in.jsonl"),
        (b"filename=in.jsonl; filename*=utf-8''in.jsonl", "in.jsonl"),
        (b"filename*=UTF-8''n%C3%A4cht%20e.jsonl", "n\u00e4cht e.jsonl"),
        (b"filename*=x", "x"),
        (b'filename=""', ""),
        (b'filename="a\\"b"', 'a"b'),
    ],
)
def test_a_file_is_told_by_its_name_however_it_is_written(parameters: bytes, name: str) -> None:
    head = b"Content-Disposition: form-data; name=file; " + parameters
    assert read(part(head, b"x") + b"--edge--")[0] == [("file", name, b"x")]


@pytest.mark.parametrize("parameters", [b"", b"name", b"name=", b'name="a', b"filename=a"])
def test_a_part_without_a_name_is_refused(parameters: bytes) -> None:
    with pytest.raises(BadForm):
        read(part(b"Content-Disposition: form-data; " + parameters, b"x") + b"--edge--")


@pytest.mark.parametrize(
    "form", [b"x" * 40, b"--edge" + b"x" * 9000, b"--edge\r\nX: y\r\n\r\n", part(NAMED, b"") * 17]
)
def test_what_is_no_form_is_refused(form: bytes) -> None:
    with pytest.raises(BadForm):
        read(form)


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        ("multipart/form-data; boundary=a", b"a"),
        ('Multipart/Form-Data;boundary="a b"', b"a b"),
        ("multipart/form-data; charset=utf-8; boundary=----x", b"----x"),
    ],
)
def test_a_boundary_is_found(text: str, boundary: bytes) -> None:
    assert boundary_of(text) == boundary


@pytest.mark.parametrize(
    "text", ["", "text/plain; boundary=a", "multipart/form-data; boundary=", "multipart/form-data"]
)
def test_without_a_boundary_it_is_no_form(text: str) -> None:
    with pytest.raises(BadForm):
        boundary_of(text)
